package client_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"path/filepath"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/server"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// A server with a token, on a TCP port of this machine, and a client that sends it.
func ExampleDial_token() {
	core, done, err := omptest.ExampleCore("llvm-deadlock")
	if err != nil {
		log.Fatal(err)
	}
	defer done()
	open := func(ctx context.Context, spec *ompdv1.TargetSpec, means server.Means) (server.Opened, error) {
		o := session.Options{Exe: core.Exe, Sysroot: core.Sysroot, Open: means.Open, Memory: means.Memory}
		return session.Open(ctx, spec.GetCore(), o)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := server.New(server.Config{Open: open, Token: "secret", Policy: server.Policy{Dirs: []string{"/"}}})
	go func() { _ = s.Serve(listener) }()
	ctx := context.Background()
	defer s.Shutdown(ctx)

	c, err := client.Dial("tcp://"+listener.Addr().String(), client.Options{Token: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	path, err := filepath.Abs(core.Core)
	if err != nil {
		log.Fatal(err)
	}
	target, err := c.OpenCore(ctx, path)
	if err != nil {
		log.Fatal(client.Explain(err))
	}
	pic, err := target.Picture(ctx, ompdv1.PicturePart_PICTURE_PART_VERDICTS)
	if err != nil {
		log.Fatal(client.Explain(err))
	}
	for _, v := range pic.Verdicts {
		if v.Kind == picture.VerdictDeadlock {
			fmt.Println(v.Summary)
		}
	}
	// Output: 2 threads wait for each other and can never proceed
}
