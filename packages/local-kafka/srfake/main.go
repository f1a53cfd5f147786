// Command srfake serves franz-go's in-memory schema registry at an address of this machine.
//
// It is a registry by other hands than Apicurio's. It judges no compatibility: every schema fits.
package main

import (
	"log"
	"net/http"
	"os"

	"github.com/twmb/franz-go/pkg/sr/srfake"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: srfake HOST:PORT")
	}
	log.Fatal(http.ListenAndServe(os.Args[1], srfake.NewRegistry().Handler()))
}
