package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ompd-inspect/ompd-inspect/client"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// Print the threads of a core that wait at a barrier, and the verdicts.
func Example() {
	ctx := context.Background()
	c, err := client.Dial("unix:///run/user/1000/ompd-inspect.sock", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	target, err := c.OpenCore(ctx, "/var/lib/cores/core.4711")
	if err != nil {
		log.Fatal(err)
	}
	filter := &ompdv1.ThreadFilter{States: []ompdv1.StateName{ompdv1.StateName_STATE_NAME_WAIT_BARRIER_EXPLICIT}}
	for t, err := range target.Threads(ctx, ompdv1.ThreadView_THREAD_VIEW_BASIC, filter) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.LWP, t.Region, t.State.Name)
	}
	pic, err := target.Picture(ctx, ompdv1.PicturePart_PICTURE_PART_VERDICTS)
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range pic.Verdicts {
		fmt.Println(v.Summary)
	}
}
