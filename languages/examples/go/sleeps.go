package main

import "time"

func main() {
	time.Sleep(10 * time.Minute)
}
