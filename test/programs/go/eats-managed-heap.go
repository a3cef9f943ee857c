package main

type node struct {
	next *node
	data [1000]byte
}

var hoard *node

func main() {
	for {
		hoard = &node{next: hoard}
	}
}
