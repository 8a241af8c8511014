// What a build of swc, named on the command line, makes of TypeScript: on its own thread, and on four of a pool at once.
const swc = require(require('path').resolve(process.argv[2]));
const { createHash } = require('crypto');

const source = `
const f = async (x?: number) => {
  for await (const y of g(x ?? 1)) console.log(\`\${y}\`);
  class A { #p = 1; get p() { return this.#p } }
  return new A().p;
};`.repeat(20);
const options = Buffer.from(JSON.stringify({ jsc: { parser: { syntax: 'typescript' }, target: 'es5' }, filename: 'a.ts' }));
const shown = ({ code }) => `${code.length} ${createHash('sha256').update(code).digest('hex')}`;

console.log(shown(swc.transformSync(source, false, options)));
Promise.all([1, 2, 3, 4].map((i) => swc.transform(`${source}//${i}`, false, options)))
  .then((results) => results.forEach((result) => console.log(shown(result))));
