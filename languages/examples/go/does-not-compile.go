package main

func main() {
	var count int = "text"
}
