package main

import "syscall"

// Outside the runtime's heap.
func main() {
	for {
		block, err := syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			panic(err)
		}
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
	}
}
