package main

import (
	"syscall"
	"time"
)

// A goroutine in a system call occupies a thread.
func waitLong() {
	for {
		rest := syscall.NsecToTimespec(int64(10 * time.Minute))
		syscall.Nanosleep(&rest, nil)
	}
}

func main() {
	for {
		go waitLong()
		time.Sleep(time.Millisecond)
	}
}
