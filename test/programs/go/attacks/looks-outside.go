// Reads a path and a port. Prints whether it can read the file, connect to the port and write to the image, and what it sees.
package main

import (
	"fmt"
	"net"
	"os"
	"strings"
)

func word(failed error, done string) string {
	if failed != nil {
		return "cannot"
	}
	return done
}

func main() {
	var path, port string
	fmt.Scan(&path, &port)
	_, err := os.ReadFile(path)
	fmt.Println("file:", word(err, "read"))
	_, err = net.Dial("tcp", "127.0.0.1:"+port)
	fmt.Println("tcp:", word(err, "connected"))
	_, err = os.Create("/usr/attack")
	fmt.Println("image:", word(err, "written"))
	entries, _ := os.ReadDir("/proc")
	processes := 0
	for _, entry := range entries {
		if entry.Name()[0] >= '0' && entry.Name()[0] <= '9' {
			processes++
		}
	}
	fmt.Println("processes:", processes)
	names := []string{}
	for _, variable := range os.Environ() {
		names = append(names, strings.SplitN(variable, "=", 2)[0])
	}
	fmt.Println("environment:", strings.Join(names, " "))
}
