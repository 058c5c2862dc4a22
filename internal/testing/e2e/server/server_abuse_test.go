package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ompd-inspect/ompd-inspect/client"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// abuse is a harmful action that a client repeats.
type abuse struct {
	name  string
	pause time.Duration // between two repetitions
	do    func(ctx context.Context, s *soaked, rng *rand.Rand)
}

// Each abuse is bounded: it holds at most this number of connections, for at most the time holding, in addition
// to the others.
const (
	crowd   = 40
	holding = 4 * time.Second
)

// abuses are the actions of malicious or broken clients.
var abuses = []abuse{
	{"half-open", time.Second, halfOpen},
	{"half a message", time.Second, halfMessages},
	{"small frames", time.Second, smallFrames},
	{"slow", time.Second, slowly},
	{"garbage", 300 * time.Millisecond, garbage},
	{"dying", 100 * time.Millisecond, dying},
	{"odd names", 200 * time.Millisecond, oddNames},
	{"1024 streams", time.Second, manyStreams},
	{"leases", 2 * time.Second, leases},
	{"lying debuggers", 200 * time.Millisecond, lying},
	{"debuggers that do not read", time.Second, unread},
	{"wrong tokens", 300 * time.Millisecond, wrongTokens},
}

// raw connects without gRPC; it returns nil if the server refuses.
func (s *soaked) raw(ctx context.Context) net.Conn {
	network, address, _ := strings.Cut(s.address, "://")
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil
	}
	_ = conn.SetDeadline(time.Now().Add(holding + 10*time.Second)) // it fails later, if at all
	return conn
}

// each calls f for each of n connections, and then closes them.
func (s *soaked) each(ctx context.Context, n int, f func(i int, c net.Conn)) {
	for i := range n {
		if c := s.raw(ctx); c != nil {
			defer c.Close()
			f(i, c)
		}
	}
	sleep(ctx, holding)
}

// halfOpen connects and sends no bytes, or only the preface.
func halfOpen(ctx context.Context, s *soaked, _ *rand.Rand) {
	s.each(ctx, crowd, func(i int, c net.Conn) {
		if i%2 == 0 {
			_, _ = io.WriteString(c, http2.ClientPreface[:i%len(http2.ClientPreface)])
			return
		}
		_, _ = io.WriteString(c, http2.ClientPreface)
		_ = http2.NewFramer(c, c).WriteSettings()
	})
}

// call starts a call on a raw connection.
func (s *soaked) call(f *http2.Framer, id uint32, method string) {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, h := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "x"},
		{"content-type", "application/grpc"}, {"te", "trailers"}, {"authorization", "Bearer " + s.token},
	} {
		_ = enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
	}
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true})
}

// halfMessages starts messages of 4 MB on many streams, and never finishes them.
func halfMessages(ctx context.Context, s *soaked, _ *rand.Rand) {
	s.each(ctx, 4, func(_ int, c net.Conn) {
		f := http2.NewFramer(c, c)
		_, _ = io.WriteString(c, http2.ClientPreface)
		_ = f.WriteSettings()
		go func() { _, _ = io.Copy(io.Discard, c) }()
		for i := range uint32(64) {
			s.call(f, 2*i+1, ompdv1.DebuggerService_Attach_FullMethodName)
			begin := append([]byte{0}, binary.BigEndian.AppendUint32(nil, 4190000)...)
			_ = f.WriteData(2*i+1, false, append(begin, make([]byte, 16000)...))
		}
	})
}

// smallFrames sends a message of 4 MB in frames of one byte, which take most memory.
func smallFrames(ctx context.Context, s *soaked, _ *rand.Rand) {
	s.each(ctx, 4, func(_ int, c net.Conn) {
		f := http2.NewFramer(c, c)
		_, _ = io.WriteString(c, http2.ClientPreface)
		_ = f.WriteSettings()
		go func() { _, _ = io.Copy(io.Discard, c) }()
		s.call(f, 1, ompdv1.DebuggerService_Attach_FullMethodName)
		_ = f.WriteData(1, false, append([]byte{0}, binary.BigEndian.AppendUint32(nil, 4190000)...))
		frame := []byte{0, 0, 1, 0, 0, 0, 0, 0, 1, 1}
		for range 500 {
			if _, err := c.Write(bytes.Repeat(frame, 4096)); err != nil || ctx.Err() != nil {
				return
			}
		}
	})
}

// slowly sends a call byte by byte.
func slowly(ctx context.Context, s *soaked, _ *rand.Rand) {
	var text bytes.Buffer
	f := http2.NewFramer(&text, nil)
	_, _ = io.WriteString(&text, http2.ClientPreface)
	_ = f.WriteSettings()
	s.call(f, 1, ompdv1.InspectionService_ListTargets_FullMethodName)
	c := s.raw(ctx)
	if c == nil {
		return
	}
	defer c.Close()
	for _, b := range text.Bytes() {
		if _, err := c.Write([]byte{b}); err != nil || ctx.Err() != nil {
			return
		}
		sleep(ctx, 20*time.Millisecond)
	}
}

// garbage sends random bytes, before and after a valid start.
func garbage(ctx context.Context, s *soaked, rng *rand.Rand) {
	c := s.raw(ctx)
	if c == nil {
		return
	}
	defer c.Close()
	junk := make([]byte, 1+rng.IntN(1<<16))
	for i := range junk {
		junk[i] = byte(rng.Uint32())
	}
	if rng.IntN(2) == 0 {
		_, _ = io.WriteString(c, http2.ClientPreface)
		_ = http2.NewFramer(c, c).WriteSettings()
	}
	_, _ = c.Write(junk)
	_, _ = c.Read(junk)
}

// withClient calls f with a client of the server, and disconnects without a farewell.
func (s *soaked) withClient(ctx context.Context, f func(context.Context, *client.Client)) {
	c, err := s.dial()
	if err != nil {
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, holding+10*time.Second)
	defer cancel()
	f(ctx, c)
}

// dying opens a target, requests everything, and disconnects before the answer.
func dying(ctx context.Context, s *soaked, rng *rand.Rand) {
	s.withClient(ctx, func(ctx context.Context, c *client.Client) {
		opened, err := c.Inspection.OpenTarget(ctx, &ompdv1.OpenTargetRequest{Spec: specOf(s.core)})
		if err != nil {
			return
		}
		short, cancel := context.WithTimeout(ctx, time.Duration(rng.IntN(30))*time.Millisecond)
		defer cancel()
		stream, err := c.Inspection.GetReport(short, &ompdv1.GetReportRequest{Target: opened.GetTarget().GetName()})
		if err == nil {
			_, _ = stream.Recv()
		}
	})
}

func specOf(core string) *ompdv1.TargetSpec {
	return &ompdv1.TargetSpec{Source: &ompdv1.TargetSpec_Core{Core: core}}
}

// oddNames requests files that are no cores or do not exist.
func oddNames(ctx context.Context, s *soaked, rng *rand.Rand) {
	names := []string{
		"/dev/zero", "/proc/self/mem", "/", "/dev/null", "relative", "/proc/kcore", "/dev/tty",
		strings.Repeat("/x", 30000),
		"\x00\xff", s.core + "/..",
	}
	s.withClient(ctx, func(ctx context.Context, c *client.Client) {
		for range 10 {
			spec := specOf(names[rng.IntN(len(names))])
			spec.Exe = names[rng.IntN(len(names))]
			_, _ = c.Inspection.OpenTarget(ctx, &ompdv1.OpenTargetRequest{Spec: spec})
		}
		_, _ = c.Inspection.OpenTarget(ctx, &ompdv1.OpenTargetRequest{Spec: specOf("/" + strings.Repeat("x", 5<<20))})
	})
}

// manyStreams starts 1,024 watches of a target at once, and reads none of the answers.
func manyStreams(ctx context.Context, s *soaked, _ *rand.Rand) {
	for range 16 {
		c, err := s.dial()
		if err != nil {
			return
		}
		defer c.Close()
		opened, err := c.Inspection.OpenTarget(ctx, &ompdv1.OpenTargetRequest{Spec: specOf(s.core)})
		if err != nil {
			return
		}
		for range 64 {
			name, each := opened.GetTarget().GetName(), durationpb.New(time.Second)
			_, _ = c.Inspection.WatchTarget(ctx, &ompdv1.WatchTargetRequest{Target: name, Interval: each})
		}
	}
	sleep(ctx, holding)
}

// leases leaves open targets that outlive their connections by a second.
func leases(ctx context.Context, s *soaked, _ *rand.Rand) {
	for range 4 {
		s.withClient(ctx, func(ctx context.Context, c *client.Client) {
			for range 32 {
				req := &ompdv1.OpenTargetRequest{Spec: specOf(s.core), Lease: durationpb.New(time.Second)}
				_, _ = c.Inspection.OpenTarget(ctx, req)
			}
		})
	}
}

// wrongTokens calls with tokens of others, and with very long ones.
func wrongTokens(ctx context.Context, s *soaked, rng *rand.Rand) {
	c, err := client.Dial(s.address, client.Options{Token: strings.Repeat("b", 1+rng.IntN(20000))})
	if err != nil {
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, holding)
	defer cancel()
	_, _ = c.Inspection.ListTargets(ctx, &ompdv1.ListTargetsRequest{})
}

// lend sends hello and claims all abilities.
func lend(ctx context.Context, c *client.Client) (ompdv1.DebuggerService_AttachClient, error) {
	stream, err := c.Debugger.Attach(ctx, grpc.MaxCallRecvMsgSize(8<<20))
	if err != nil {
		return nil, err
	}
	hello := &ompdv1.Hello{
		About:  &ompdv1.Target{Arch: "x86-64", Executable: "/nonexistent"},
		Powers: []ompdv1.Power{ompdv1.Power_POWER_REGISTERS, ompdv1.Power_POWER_MAPPINGS, ompdv1.Power_POWER_TYPES},
	}
	return stream, stream.Send(&ompdv1.AttachRequest{Message: &ompdv1.AttachRequest_Hello{Hello: hello}})
}

// lying lends a program with false answers to all questions, and makes the server look at it.
func lying(ctx context.Context, s *soaked, rng *rand.Rand) {
	s.withClient(ctx, func(ctx context.Context, c *client.Client) {
		ctx, cancel := context.WithTimeout(ctx, holding)
		defer cancel()
		stream, err := lend(ctx, c)
		if err != nil {
			return
		}
		lie := rng.IntN(lies)
		for {
			resp, err := stream.Recv()
			if err != nil {
				return
			}
			if info := resp.GetTarget(); info != nil {
				go func() {
					looks, err := c.Inspection.GetReport(ctx, &ompdv1.GetReportRequest{Target: info.GetName()})
					for err == nil {
						_, err = looks.Recv()
					}
					cancel()
				}()
				continue
			}
			a := &ompdv1.Answers{Id: resp.GetQuestions().GetId()}
			for _, q := range resp.GetQuestions().GetQuestions() {
				a.Answers = append(a.Answers, liesTo(q, lie, rng))
			}
			if lie == 0 {
				a.Id++
			}
			if stream.Send(&ompdv1.AttachRequest{Message: &ompdv1.AttachRequest_Answers{Answers: a}}) != nil {
				return
			}
		}
	})
}

// lies is the number of kinds of false answers that liesTo implements.
const lies = 8

// liesTo returns a false answer to a question.
func liesTo(q *ompdv1.Question, lie int, rng *rand.Rand) *ompdv1.Answer {
	memory := func(size uint32, word func(i uint64) uint64) *ompdv1.Answer {
		var b []byte
		for i := range uint64(size) / 8 {
			b = binary.LittleEndian.AppendUint64(b, word(i))
		}
		return &ompdv1.Answer{Answer: &ompdv1.Answer_Memory{Memory: &ompdv1.MemoryAnswer{Data: b}}}
	}
	at, size := q.GetMemory().GetAddress(), q.GetMemory().GetSize()
	switch {
	case lie == 1 || lie > 4 && q.GetThreads() != nil: // very many threads
		a := &ompdv1.ThreadsAnswer{}
		for i := range uint64(20000) {
			a.Threads = append(a.Threads, &ompdv1.NativeThread{Lwp: i % 9000, Pthread: i * 64})
		}
		return &ompdv1.Answer{Answer: &ompdv1.Answer_Threads{Threads: a}}
	case lie == 2: // more than requested
		return memory(3<<20, func(uint64) uint64 { return rng.Uint64() })
	case lie == 3: // another question's answer, or an empty one
		return &ompdv1.Answer{}
	case q.GetMappings() != nil:
		a := &ompdv1.MappingsAnswer{}
		for i := range uint64(10000) {
			m := &ompdv1.Mapping{Low: i << 12, High: (i + 2) << 12, File: "/dev/zero", Read: true, Exec: true}
			a.Mappings = append(a.Mappings, m)
		}
		return &ompdv1.Answer{Answer: &ompdv1.Answer_Mappings{Mappings: a}}
	case q.GetSymbol() != nil:
		return &ompdv1.Answer{Answer: &ompdv1.Answer_Symbol{Symbol: &ompdv1.SymbolAnswer{Address: rng.Uint64() >> 20}}}
	case lie == 4 && q.GetMemory() != nil: // noise
		return memory(size, func(uint64) uint64 { return rng.Uint64() })
	case lie == 5 && q.GetMemory() != nil: // each word points to itself
		return memory(size, func(i uint64) uint64 { return at + 8*i })
	case q.GetMemory() != nil: // each word points a little further, for ever
		return memory(size, func(i uint64) uint64 { return at + 8*i + 64 })
	}
	no := &ompdv1.AnswerError{Message: strings.Repeat("no ", 10000)}
	return &ompdv1.Answer{Answer: &ompdv1.Answer_Error{Error: no}}
}

// unread lends a program, reports stops all the time, and reads no messages.
func unread(ctx context.Context, s *soaked, _ *rand.Rand) {
	s.withClient(ctx, func(ctx context.Context, c *client.Client) {
		ctx, cancel := context.WithTimeout(ctx, holding)
		defer cancel()
		stream, err := lend(ctx, c)
		about := &ompdv1.Target{Arch: "x86-64", Executable: strings.Repeat("x", 1<<20)}
		for n := 0; err == nil && n < 50; n++ {
			stopped := &ompdv1.AttachRequest_Stopped{Stopped: &ompdv1.Stopped{About: about}}
			err = stream.Send(&ompdv1.AttachRequest{Message: stopped})
		}
		sleep(ctx, holding)
	})
}
