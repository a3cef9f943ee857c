package main

func spin() {
	for {
	}
}

func main() {
	for i := 0; i < 3; i++ {
		go spin()
	}
	spin()
}
