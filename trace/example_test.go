package trace_test

import (
	"fmt"
	"log"
	"path/filepath"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// The recorder's data in a core: the number of events, and the threads that wrote them. Recordings of processes are
// read alike, from the memory and mappings of live.Process.
func ExampleOpenNamed() {
	path := filepath.Join("..", "testdata", "recordings", "transfer", "core.zst")
	core, err := corefile.Open(path, corefile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer core.Close()
	r, err := trace.OpenNamed(core, core.Mappings(), core.Info().PID)
	if err != nil {
		log.Fatal(err)
	}
	recording, err := r.Read()
	if err != nil {
		log.Fatal(err)
	}
	events := 0
	for range recording.Events(0) {
		events++
	}
	fmt.Println(len(recording.Threads), "threads,", events, "events")
	// Output:
	// 2 threads, 18 events
}
