package main

func main() {
	panic("nobody recovers from this")
}
