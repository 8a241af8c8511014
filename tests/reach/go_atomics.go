// Below armv8.1-a Go's compiler dispatches atomics in line, by a byte that internal/cpu sets from HWCAP.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

//go:noinline
func add(to *uint64, count uint64) { atomic.AddUint64(to, count) }

func main() {
	var sum, last uint64
	var lock sync.Mutex
	var done sync.WaitGroup
	for range 2 {
		done.Add(1)
		go func() {
			defer done.Done()
			for range 1000 {
				add(&sum, 1)
			}
			lock.Lock()
			last = 7
			lock.Unlock()
		}()
	}
	done.Wait()
	fmt.Println("sum", sum, last)
}
