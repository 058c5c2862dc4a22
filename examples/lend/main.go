// Command lend is a debugger without any knowledge of OpenMP: it stops a process, lends its callbacks to an
// ompd-inspect server by DebuggerService, and prints the answers. x86-64 Linux.
//
//	ompd-inspect serve --listen unix:///tmp/oi.sock & lend unix:///tmp/oi.sock PID
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/client"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

func main() {
	runtime.LockOSThread() // the kernel gives registers only to the thread that attached
	if len(os.Args) != 3 {
		log.Fatal("usage: lend ADDRESS PID")
	}
	p, err := stop(os.Args[2])
	if err == nil {
		err = p.report(context.Background(), os.Args[1])
	}
	for _, t := range p.threads {
		_ = unix.PtraceDetach(int(t.GetLwp()))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// process is a process that this debugger has stopped.
type process struct {
	dir     string // below /proc
	memory  *os.File
	threads []*ompdv1.NativeThread
}

// stop stops all threads of a process and reads their registers.
func stop(pid string) (*process, error) {
	p := &process{dir: "/proc/" + pid}
	p.memory, _ = os.Open(p.dir + "/mem")
	tasks, err := os.ReadDir(p.dir + "/task")
	for _, t := range tasks {
		tid, _ := strconv.Atoi(t.Name())
		if err = unix.PtraceAttach(tid); err != nil {
			return p, fmt.Errorf("thread %d: %w", tid, err)
		}
		var r unix.PtraceRegs
		_, err1 := unix.Wait4(tid, nil, unix.WALL, nil)
		if err = errors.Join(err1, unix.PtraceGetRegs(tid, &r)); err != nil {
			return p, err
		}
		regs := &ompdv1.Registers{Values: map[uint32]uint64{}, ThreadPointer: r.Fs_base}
		for dwarf, v := range []uint64{
			r.Rax, r.Rdx, r.Rcx, r.Rbx, r.Rsi, r.Rdi, r.Rbp, r.Rsp,
			r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15, r.Rip,
		} {
			regs.Values[uint32(dwarf)] = v
		}
		if call := int64(r.Orig_rax); call >= 0 {
			regs.Syscall = &call
		}
		p.threads = append(p.threads, &ompdv1.NativeThread{Lwp: uint64(tid), Registers: regs})
	}
	return p, err
}

// report lends the process to a server and prints the server's verdicts and threads.
func (p *process) report(ctx context.Context, address string) error {
	c, err := client.Dial(address, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	stream, err := c.Debugger.Attach(ctx)
	if err != nil {
		return client.Explain(err)
	}
	exe, _ := os.Readlink(p.dir + "/exe")
	powers := []ompdv1.Power{ompdv1.Power_POWER_REGISTERS, ompdv1.Power_POWER_MAPPINGS}
	about := &ompdv1.Target{Kind: ompdv1.TargetKind_TARGET_KIND_PROCESS, Executable: exe, Arch: "x86-64"}
	hello := &ompdv1.Hello{About: about, Powers: powers}
	_ = stream.Send(&ompdv1.AttachRequest{Message: &ompdv1.AttachRequest_Hello{Hello: hello}}) // Recv returns the error
	first, err := stream.Recv()
	if err != nil {
		return client.Explain(err)
	}
	go p.serve(stream)
	pic, err := c.Target(first.GetTarget().GetName()).Picture(ctx)
	if err != nil {
		return err
	}
	for _, v := range pic.Verdicts {
		fmt.Printf("%s: %s (%s)\n", v.Kind, v.Summary, v.Certainty)
	}
	for _, t := range pic.Threads {
		if t.ThreadNum != nil && t.State != nil {
			fmt.Printf("LWP %d: thread %d, %s %s\n", t.LWP, *t.ThreadNum, t.State.Name, t.WaitName)
		}
	}
	return stream.CloseSend()
}

// serve answers the server's questions until the stream ends.
func (p *process) serve(stream ompdv1.DebuggerService_AttachClient) {
	for m, err := stream.Recv(); err == nil; m, err = stream.Recv() {
		answers := &ompdv1.Answers{Id: m.GetQuestions().GetId()}
		for _, q := range m.GetQuestions().GetQuestions() {
			answers.Answers = append(answers.Answers, p.answer(q))
		}
		_ = stream.Send(&ompdv1.AttachRequest{Message: &ompdv1.AttachRequest_Answers{Answers: answers}})
	}
}

// answer answers one question. A debugger that lists the mappings needs no symbols: the server reads the files.
func (p *process) answer(q *ompdv1.Question) *ompdv1.Answer {
	switch {
	case q.GetMemory() != nil:
		b := make([]byte, q.GetMemory().GetSize())
		n, _ := p.memory.ReadAt(b, int64(q.GetMemory().GetAddress())) // a shorter answer ends at the first unreadable byte
		return &ompdv1.Answer{Answer: &ompdv1.Answer_Memory{Memory: &ompdv1.MemoryAnswer{Data: b[:n]}}}
	case q.GetThreads() != nil:
		return &ompdv1.Answer{Answer: &ompdv1.Answer_Threads{Threads: &ompdv1.ThreadsAnswer{Threads: p.threads}}}
	case q.GetMappings() != nil:
		return &ompdv1.Answer{Answer: &ompdv1.Answer_Mappings{Mappings: p.mappings()}}
	}
	return &ompdv1.Answer{Answer: &ompdv1.Answer_Error{Error: &ompdv1.AnswerError{Message: "not in this debugger"}}}
}

// mappings lists the memory mappings.
func (p *process) mappings() *ompdv1.MappingsAnswer {
	out := &ompdv1.MappingsAnswer{}
	text, _ := os.ReadFile(p.dir + "/maps")
	for line := range strings.Lines(string(text)) {
		var m ompdv1.Mapping
		var perm, device, inode string
		_, _ = fmt.Sscanf(line, "%x-%x %s %x %s %s %s", &m.Low, &m.High, &perm, &m.FileOffset, &device, &inode, &m.File)
		m.Read, m.Write, m.Exec = strings.Contains(perm, "r"), strings.Contains(perm, "w"), strings.Contains(perm, "x")
		out.Mappings = append(out.Mappings, &m)
	}
	return out
}
