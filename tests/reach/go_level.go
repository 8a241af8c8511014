// Go's runtime tests GOAMD64's level, and GOARM64's LSE, before it starts the program.
package main

import (
	"fmt"
	"math/bits"
	"os"
)

func main() {
	n := uint64(len(os.Args))
	fmt.Println(bits.OnesCount64(n), bits.TrailingZeros64(n))
}
