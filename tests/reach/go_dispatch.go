// Go's standard library asks internal/cpu's variables before its assembly: nothing here is needed.
package main

import (
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash/crc32"
)

func main() {
	data := make([]byte, 1000)
	sum, long := sha256.Sum256(data), sha512.Sum512(data)
	fmt.Printf("%x %x %x\n", sum[:2], long[:2], crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}
