package session_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// goldenCore unpacks a core of testdata/golden; done removes it.
func goldenCore(name string) (core string, o session.Options, done func()) {
	g, done, err := omptest.ExampleCore(name)
	if err != nil {
		log.Fatal(err)
	}
	return g.Core, session.Options{Exe: g.Exe, Sysroot: g.Sysroot}, done
}

// The report of a core: the verdicts and the state of each thread.
func Example() {
	core, options, done := goldenCore("llvm-deadlock")
	defer done()
	ctx := context.Background()
	t, err := session.Open(ctx, core, options)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	result, err := t.Query(ctx, session.Report())
	if err != nil {
		log.Fatal(err)
	}
	defer result.Close()
	for _, v := range result.Picture.Verdicts {
		fmt.Printf("%s: %s (%s)\n", v.Kind, v.Summary, v.Certainty)
	}
	for _, thread := range result.Picture.Threads {
		fmt.Printf("thread %d: %s\n", *thread.ThreadNum, thread.State.Name)
	}
	// Output:
	// deadlock: 2 threads wait for each other and can never proceed (certain)
	// thread 0: wait_lock
	// thread 1: wait_lock
	// thread 2: wait_sleep
}

// Several queries about one snapshot.
func ExampleTarget_Snapshot() {
	core, options, done := goldenCore("gnu-nested")
	defer done()
	ctx := context.Background()
	t, err := session.Open(ctx, core, options)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	snapshot, err := t.Snapshot(ctx, session.Everything())
	if err != nil {
		log.Fatal(err)
	}
	defer snapshot.Close()
	regions, err := snapshot.Query(ctx, session.Query{Parts: picture.Parts{Regions: true}})
	if err != nil {
		log.Fatal(err)
	}
	threads, err := snapshot.Query(ctx, session.Query{Parts: picture.Parts{Threads: true}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(regions.Picture.Regions), "regions,", len(threads.Picture.Threads), "threads")
	// Output: 4 regions, 6 threads
}

// memorySymbolsThreads is a target with no more than the three services that every debugger has.
type memorySymbolsThreads struct{ callbacks.Target }

// A target of one's own, with memory, symbols and threads; here they are those of a core.
func ExampleOpenTarget() {
	path, options, done := goldenCore("llvm-deadlock")
	defer done()
	core, err := corefile.Open(path, corefile.Options{Exe: options.Exe, Sysroot: options.Sysroot})
	if err != nil {
		log.Fatal(err)
	}
	defer core.Close()
	t, err := session.OpenTarget(memorySymbolsThreads{core}, options)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	result, err := t.Query(context.Background(), session.Query{Parts: picture.Parts{Threads: true, Regions: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer result.Close()
	for _, r := range result.Picture.Regions {
		fmt.Printf("level %d, team of %d\n", r.Level, r.TeamSize)
	}
	for _, thread := range result.Picture.Threads {
		if thread.ThreadNum != nil {
			fmt.Printf("thread %d has %d frames\n", *thread.ThreadNum, len(thread.UserStack))
		}
	}
	for _, w := range result.Picture.Warnings {
		fmt.Println("warning:", strings.SplitN(w, ":", 2)[0])
	}
	// Output:
	// level 0, team of 1
	// level 1, team of 3
	// thread 0 has 0 frames
	// thread 1 has 0 frames
	// thread 2 has 0 frames
	// warning: the target has no registers (callbacks.RegisterReader)
}

// Whether a process makes progress: ten looks in ten seconds.
func ExampleTarget_Watch() {
	ctx := context.Background()
	t, err := session.Open(ctx, "4711", session.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	for look, err := range t.Watch(ctx, time.Second, 10) {
		if err != nil {
			log.Fatal(err)
		}
		if look.Change != nil {
			fmt.Printf("%.0f s: %s\n", look.Seconds, look.Change.Verdict)
		}
		if look.Result != nil && look.Result.Verdict == picture.WatchStuck {
			fmt.Println("it hangs:", look.Result.Reason)
		}
	}
}
