package main

func main() {
	panic("an unrecovered panic")
}
