package main

import (
	"bytes"
	"fmt"
	"os"
)

const mebibyte = 1 << 20

func fill(directory string, files int) {
	for number := 0; number < files; number++ {
		if err := os.WriteFile(fmt.Sprintf("%s/%d", directory, number), block, 0o600); err != nil {
			panic(err)
		}
	}
}

var (
	memory = bytes.Repeat([]byte{1}, 170*mebibyte)
	block  = make([]byte, 8*mebibyte)
)

func main() {
	fmt.Println("the memory fits")
	fill("/tmp", 3)
	fill("/dev/shm", 3)
	fill("/box", 6)
	os.Exit(int(memory[mebibyte]) - 1)
}
