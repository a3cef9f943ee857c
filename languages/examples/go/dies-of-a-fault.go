package main

import "runtime/debug"

// The runtime turns a fault into a panic and exits with 2; told to, it ends by a signal instead.
func main() {
	debug.SetTraceback("crash")
	var nowhere *int
	println(*nowhere)
}
