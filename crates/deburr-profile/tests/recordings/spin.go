// Spins in two functions and writes a CPU profile of itself: spin FILE.
package main

import (
	"fmt"
	"os"
	"runtime/pprof"
)

//go:noinline
func work(n uint32) uint32 {
	h := uint32(1)
	for i := uint32(0); i < n; i++ {
		h = h*31 + i
	}
	return h
}

//go:noinline
func outer(n uint32) uint32 {
	return work(n) + 1
}

func main() {
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	pprof.StartCPUProfile(file)
	r := uint32(0)
	for i := 0; i < 12; i++ {
		r += outer(50_000_000) + work(20_000_000)
	}
	pprof.StopCPUProfile()
	file.Close()
	fmt.Println(r)
}
