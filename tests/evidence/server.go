// Enough of a program to have thousands of small frames.
package main

import "fmt"

func main() { fmt.Println("served") }
