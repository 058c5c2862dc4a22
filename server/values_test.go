package server

import (
	"strings"
	"testing"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// TestManyValues refuses a message of very many empty ones, and accepts the registers of as many threads as fit
// in a message.
func TestManyValues(t *testing.T) {
	regs := &ompdv1.Registers{Values: map[uint32]uint64{}}
	for i := range uint32(24) {
		regs.Values[i] = 0x7fffffff0000 + uint64(i)
	}
	full := &ompdv1.NativeThread{Lwp: 1 << 20, Pthread: 0x7fffffff0000, Registers: regs}
	for _, c := range []struct {
		thread *ompdv1.NativeThread
		n      int
		taken  bool
	}{{full, 10_000, true}, {&ompdv1.NativeThread{}, 2_000_000, false}} {
		a := &ompdv1.ThreadsAnswer{}
		for range c.n {
			a.Threads = append(a.Threads, c.thread)
		}
		answers := &ompdv1.Answers{Answers: []*ompdv1.Answer{{Answer: &ompdv1.Answer_Threads{Threads: a}}}}
		b, err := proto.Marshal(&ompdv1.AttachRequest{Message: &ompdv1.AttachRequest_Answers{Answers: answers}})
		if err != nil {
			t.Fatal(err)
		}
		m := new(ompdv1.AttachRequest)
		err = sized{encoding.GetCodecV2("proto")}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, m)
		if (err == nil) != c.taken || err != nil && !strings.Contains(err.Error(), "values") {
			t.Errorf("%d threads in %d bytes: %v", c.n, len(b), err)
		}
	}
}
