package main

import (
	"os"
	"os/exec"
	"syscall"
)

func eat() {
	var hoard [][]byte
	for {
		block := make([]byte, 1<<20)
		for i := range block {
			block[i] = 1
		}
		hoard = append(hoard, block)
	}
}

func main() {
	if len(os.Args) > 1 {
		eat()
	}
	child := exec.Command(os.Args[0], "child")
	child.Run()
	if !child.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
		os.Exit(1)
	}
}
