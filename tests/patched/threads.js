// Threads of Node.js at one array, and what its libraries compute. What is printed does not depend on who came first.
const { Worker, isMainThread, workerData } = require('worker_threads');

const THREADS = 3, TIMES = 20000;

if (isMainThread) {
  const shared = new SharedArrayBuffer(64);
  const words = new Int32Array(shared), longs = new BigInt64Array(shared, 8, 2);
  let left = THREADS;
  for (let i = 0; i < THREADS; i++) {
    new Worker(__filename, { workerData: shared }).on('exit', (status) => {
      if (status) process.exit(9);
      if (--left) return;
      console.log(words[0], longs[0], words[13], Atomics.compareExchange(words, 12, 0, 5), words[12]);
      const { createHash } = require('crypto'), { gzipSync, gunzipSync } = require('zlib');
      console.log(createHash('sha256').update(gunzipSync(gzipSync(Buffer.alloc(1e5, 'x')))).digest('hex'));
    });
  }
} else {
  const words = new Int32Array(workerData), longs = new BigInt64Array(workerData, 8, 2);
  for (let i = 0; i < TIMES; i++) {
    Atomics.add(words, 0, 1);
    Atomics.sub(longs, 0, 2n);
    Atomics.xor(words, 13, 7);
    Atomics.exchange(words, 14, i);
  }
}
