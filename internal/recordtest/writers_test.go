package recordtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// remote reads the memory of a process that runs.
type remote int

func (pid remote) read(t *testing.T, address uint64, b []byte) {
	t.Helper()
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := unix.ProcessVMReadv(int(pid), local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(b)}}, 0)
	if err != nil || n != len(b) {
		t.Fatalf("%d bytes at %#x: %d, %v", len(b), address, n, err)
	}
}

func (pid remote) word(t *testing.T, address uint64) uint64 {
	t.Helper()
	b := make([]byte, 8)
	pid.read(t, address, b)
	return binary.LittleEndian.Uint64(b)
}

// follower reads one ring again and again beside its writer, and counts.
type follower struct {
	pid            remote
	ring           uint64 // address
	fields         ringFields
	slots          []byte
	next           uint64 // the first record that is not known
	accepted, lost uint64
}

// follow takes what is new, as docs/recorder.md says.
func (f *follower) follow(t *testing.T) {
	t.Helper()
	if f.slots == nil {
		b := make([]byte, ringHeader)
		f.pid.read(t, f.ring, b)
		if err := binary.Read(bytes.NewReader(b), binary.LittleEndian, &f.fields); err != nil {
			t.Fatal(err)
		}
		f.slots = make([]byte, 32<<f.fields.Shift)
		f.next = f.fields.Base
	}
	head := f.pid.word(t, f.ring+8)
	f.pid.read(t, f.fields.Records, f.slots)
	after := make([]byte, 16)
	f.pid.read(t, f.ring, after)
	begun := max(binary.LittleEndian.Uint64(after), binary.LittleEndian.Uint64(after[8:]))
	n := uint64(len(f.slots) / 32)
	if begun > n && begun-n > f.next {
		f.lost += min(begun-n, head) - f.next
		f.next = min(begun-n, head)
	}
	for ; f.next < head; f.next++ {
		r := (*record)(unsafe.Pointer(&f.slots[f.next%n*32]))
		if r.Code != codeThread && (r.A != f.next || r.B != ^f.next || r.Lap != uint8(f.next/n)) {
			t.Fatalf("record %d of %d, %d begun, is %v, lap %d", f.next, head, begun, *r, r.Lap)
		}
		f.accepted++
	}
}

// TestWriters reads rings beside their writers, which signal handlers interrupt: no
// record is torn, and what was written is what was read and what was lost.
func TestWriters(t *testing.T) {
	const threads, records = 8, 400_000
	exe := build(t, "gcc", "stress.c", "-O2", "-D_GNU_SOURCE", "../../recorder/recorder.c", "../../recorder/register.c",
		"../../recorder/ompt.c", "../../recorder/rare.c", "../../recorder/target.c", "../../recorder/chain.c")
	argv := []string{exe, fmt.Sprint(threads), fmt.Sprint(records)}
	p := runArgs(t, omptest.Runtime{Name: "none"}, argv, "OMPD_RECORDER_MEMORY=8M")
	done := make(chan string, 1)
	go func() {
		var all strings.Builder
		for line := ""; line != "DONE\n"; {
			var err error
			if line, err = p.out.ReadString('\n'); err != nil {
				break
			}
			all.WriteString(line)
		}
		done <- all.String()
	}()
	pid := remote(p.Process.Pid)
	start := findHeader(t, p.Process.Pid)
	followers := map[uint64]*follower{}
	said := ""
	for said == "" {
		select {
		case said = <-done: // once more after it, for the rest
		default:
		}
		for i := range min(uint64(threads), pid.word(t, start+headerRings)&0xffffffff) {
			ring := pid.word(t, start+headerSize+8*i)
			if ring == 0 || pid.word(t, ring+8) == 0 { // it is just being made
				continue
			}
			if followers[ring] == nil {
				followers[ring] = &follower{pid: pid, ring: ring}
			}
			followers[ring].follow(t)
		}
	}
	checkCounts(t, followers, said, threads)
}

// headerRings is where struct recorder_header has the number of rings.
const headerRings = 112

// checkCounts holds what was read and lost against what each thread says of itself.
func checkCounts(t *testing.T, followers map[uint64]*follower, said string, threads int) {
	t.Helper()
	var accepted, lost uint64
	for line := range strings.Lines(said) {
		var pthread, written, failed uint64
		if n, _ := fmt.Sscan(line, &pthread, &written, &failed); n != 3 {
			continue
		}
		threads--
		for _, f := range followers {
			if f.fields.Pthread != pthread {
				continue
			}
			const own = 1 // the record that says whose ring it is
			if dropped := f.pid.word(t, f.ring+56); f.accepted+f.lost != written+own || dropped != failed {
				t.Errorf("%d records read, %d lost, %d events dropped; %d were written and %d dropped",
					f.accepted, f.lost, dropped, written, failed)
			}
			accepted, lost = accepted+f.accepted, lost+f.lost
		}
	}
	if threads != 0 || accepted == 0 || lost == 0 {
		t.Errorf("%d threads are missing; %d records read, %d lost, want both\n%s", threads, accepted, lost, said)
	}
	t.Logf("%d records read, %d lost", accepted, lost)
}
