// Another package writes over what Go's run-time library has from the kernel: a test of that word then proves nothing.
package main

import (
	"fmt"
	"os"
	_ "unsafe"
)

//go:linkname hwcap internal/cpu.HWCap
var hwcap uint

// Adds one by an instruction of LSE, in wide_arm64.s.
func addLSE(to *uint64)

//go:noinline
func replace(arguments []string) { hwcap |= uint(len(arguments)) << 8 }

func main() {
	var sum uint64
	replace(os.Args)
	if hwcap&(1<<8) != 0 {
		addLSE(&sum)
	}
	fmt.Println("lse", sum)
}
