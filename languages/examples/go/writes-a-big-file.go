package main

import "os"

func main() {
	file, err := os.Create("big")
	for err == nil {
		_, err = file.Write(make([]byte, 65536))
	}
	println(err.Error())
	os.Exit(1)
}
