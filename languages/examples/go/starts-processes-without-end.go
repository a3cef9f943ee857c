package main

import "os/exec"

func main() {
	for {
		if err := exec.Command("/bin/sleep", "600").Start(); err != nil {
			panic(err)
		}
	}
}
