package main

import "runtime/debug"

// By default the runtime turns a fault into a panic and exits with 2.
func main() {
	debug.SetTraceback("crash")
	var nowhere *int
	println(*nowhere)
}
