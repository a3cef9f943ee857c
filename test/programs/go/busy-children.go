package main

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Each child stays far below its own limits.
func spin() {
	var usage syscall.Rusage
	for usage.Utime.Nano() < int64(50*time.Millisecond) {
		syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	}
}

func main() {
	if len(os.Args) > 1 {
		spin()
		return
	}
	for {
		if err := exec.Command(os.Args[0], "child").Run(); err != nil {
			panic(err)
		}
	}
}
