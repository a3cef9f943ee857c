package main

import (
	"syscall"
	"time"
)

// A goroutine in a system call keeps a thread for itself.
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
