package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// statusFile is the environment variable that names the file in which a watched server writes its number of
// goroutines.
const statusFile = "OMPD_SOAK_STATUS"

// watchedServer runs the tool and reports its number of goroutines.
func watchedServer() {
	name := os.Getenv(statusFile)
	tell := func() {
		fresh := name + ".new"
		if os.WriteFile(fresh, []byte(strconv.Itoa(runtime.NumGoroutine())), 0o600) == nil {
			_ = os.Rename(fresh, name)
		}
	}
	tell() // before the server prints its address
	go func() {
		for range time.Tick(200 * time.Millisecond) {
			tell()
		}
	}()
	e2e.Tool()
}

// soaked is a server in a process of its own, with the counts of its clients.
type soaked struct {
	*exec.Cmd
	address, token, status, core string

	tries, failures atomic.Int64 // of regular clients
	slowest         atomic.Int64 // of their looks, in nanoseconds
	abuses          sync.Map     // count of each kind: *atomic.Int64
}

// sample has the resources of a server at one moment.
type sample struct {
	resident          int64 // bytes
	files, goroutines int
}

func (s sample) String() string {
	return fmt.Sprintf("%d MB, %d descriptors, %d goroutines", s.resident>>20, s.files, s.goroutines)
}

// startSoaked starts a server on a unix socket or on the loopback.
func startSoaked(t *testing.T, network string) *soaked {
	t.Helper()
	s := &soaked{status: filepath.Join(t.TempDir(), "goroutines"), core: e2e.DumpProgram(t, "many", "40").Core}
	args := []string{"serve", "--max-idle", "5m", "--listen", "unix://" + filepath.Join(t.TempDir(), "s")}
	if network == "tcp" {
		s.token = strings.Repeat("a", 32)
		file := secretFile(t, "token", s.token)
		args = append(args, "--listen", "tcp://127.0.0.1:0", "--token-file", file, "--allow-dir", "/")
	}
	s.Cmd = e2e.Process(args...)
	s.Args[0] = "watched-server"
	s.Env = append(os.Environ(), statusFile+"="+s.status)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.Stderr = log
	out, err := s.StdoutPipe()
	if err := errors.Join(err, s.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Process.Signal(syscall.SIGTERM)
		if err := s.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
		text, err := os.ReadFile(log.Name())
		if err != nil || strings.Contains(string(text), "level=ERROR") || strings.Contains(string(text), "goroutine ") {
			t.Errorf("the server's log: %v\n%.4000s", err, text)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("the server says %q, %v", line, err)
	}
	s.address = address
	return s
}

// sample reads the figures from the kernel and from the server itself.
func (s *soaked) sample(t *testing.T) sample {
	t.Helper()
	proc := fmt.Sprintf("/proc/%d", s.Process.Pid)
	statm, err1 := os.ReadFile(proc + "/statm")
	files, err2 := os.ReadDir(proc + "/fd")
	text, err3 := os.ReadFile(s.status)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	pages, err1 := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	n, err2 := strconv.Atoi(string(text))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return sample{pages * int64(os.Getpagesize()), len(files), n}
}

// dial connects to the server, with its token.
func (s *soaked) dial() (*client.Client, error) {
	return client.Dial(s.address, client.Options{Token: s.token})
}

// wellMeaning looks at a core over a connection of its own and queries the server's health: other clients must
// not prevent that.
func (s *soaked) wellMeaning(ctx context.Context) error {
	c, err := s.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	health, err := healthv1.NewHealthClient(c.Conn()).Check(ctx, &healthv1.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return fmt.Errorf("health: %v, %w", health.GetStatus(), err)
	}
	target, err := c.OpenCore(ctx, s.core)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	threads := 0
	for _, err := range target.Threads(ctx, ompdv1.ThreadView_THREAD_VIEW_UNSPECIFIED, nil) {
		if err != nil {
			return fmt.Errorf("threads: %w", err)
		}
		threads++
	}
	if threads < 40 {
		return fmt.Errorf("only %d threads", threads)
	}
	return target.Close(ctx)
}

// soakTime returns the duration of the abuse: a few seconds without a campaign.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(omptest.Option("time"))
	if err != nil && omptest.Option("time") != "" {
		t.Fatal(err)
	}
	return max(d/2, 5*time.Second) // a half on each kind of socket
}

// TestServerSoak abuses a server in all ways at once while others use it. The server must serve them all the
// time, and hold no resources of the abuse after its end.
func TestServerSoak(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			s := startSoaked(t, network)
			for range 3 { // so that everything has been loaded once
				if err := s.wellMeaning(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			before := s.settled(t, sample{1 << 40, 1 << 20, 1 << 20}) // the first sample
			d := soakTime(t)
			samples := s.abused(t, d)
			after := s.settled(t, sample{before.resident + mostLeft, before.files + 4, before.goroutines + 8})
			s.tell(t, before, after, samples, d >= growing)
		})
	}
}

// mostLeft is the limit, in bytes, on a server's additional memory after the abuse: it keeps its last
// allocations, up to the amount that is worth releasing.
const mostLeft = 160 << 20

// mostHeld is the limit, in bytes, on a server's memory at any time, however fast its clients are: the limit for
// all targets together (768 MB), and a third of that for calls, connections and the program.
const mostHeld = 1 << 30

// settleLimit is the time in which a server must notice that all clients have disconnected.
const settleLimit = 20 * time.Minute

// settled waits until the server holds no more than most.
func (s *soaked) settled(t *testing.T, most sample) sample {
	t.Helper()
	for end := time.Now().Add(settleLimit); ; sleep(t.Context(), 200*time.Millisecond) {
		now := s.sample(t)
		if now.resident <= most.resident && now.files <= most.files && now.goroutines <= most.goroutines {
			return now
		}
		if time.Now().After(end) {
			t.Errorf("%v after all clients left: the server holds %v, want at most %v", settleLimit, now, most)
			return now
		}
	}
}

// abused abuses the server for a time, and samples it each second.
func (s *soaked) abused(t *testing.T, d time.Duration) (samples []sample) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var wg sync.WaitGroup
	for i, a := range abuses {
		count := new(atomic.Int64)
		s.abuses.Store(a.name, count)
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		wg.Go(func() {
			for ctx.Err() == nil {
				a.do(ctx, s, rng)
				count.Add(1)
				sleep(ctx, a.pause)
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			one, end := context.WithTimeout(t.Context(), 2*time.Minute) // it may outlast the abuse
			err := s.wellMeaning(one)
			end()
			if s.tries.Add(1); err != nil {
				s.failures.Add(1)
				t.Errorf("a client that means well: %v", err)
			}
			s.slowest.Store(max(s.slowest.Load(), int64(time.Since(began))))
			sleep(ctx, 500*time.Millisecond)
		}
	})
	for ctx.Err() == nil {
		samples = append(samples, s.sample(t))
		sleep(ctx, time.Second)
	}
	wg.Wait()
	return samples
}

// sleep waits, unless ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// growing is the shortest abuse after which growth can be judged: in the first seconds, all figures grow.
const growing = time.Minute

// tell logs the figures. The server must never hold more than its limit. If the abuse was long enough, it must
// hold no more in the last quarter than in the second: steady growth is a leak.
func (s *soaked) tell(t *testing.T, before, after sample, samples []sample, long bool) {
	t.Helper()
	var names []string
	s.abuses.Range(func(name, count any) bool {
		names = append(names, fmt.Sprintf("%s %d", name, count.(*atomic.Int64).Load()))
		return true
	})
	slices.Sort(names)
	n := len(samples)
	middle, last := middleOf(samples[n/4:n/2+1]), middleOf(samples[n*3/4:])
	most := slices.MaxFunc(samples, func(a, b sample) int { return int(a.resident - b.resident) })
	t.Logf("before: %v\nsecond quarter: %v\nlast quarter: %v\nmost: %v\nafter: %v", before, middle, last, most, after)
	t.Logf("%d looks of a client that means well, %d failed, the slowest took %v; abuse: %s",
		s.tries.Load(), s.failures.Load(), time.Duration(s.slowest.Load()), strings.Join(names, ", "))
	if s.tries.Load() == 0 {
		t.Error("nobody looked at anything")
	}
	if most.resident > mostHeld {
		t.Errorf("the server held %v, want at most %d MB", most, mostHeld>>20)
	}
	if long && (last.resident > 2*middle.resident+mostLeft || last.goroutines > 2*middle.goroutines+1000) {
		t.Errorf("it grows: %v in the second quarter of the time, %v in the last", middle, last)
	}
}

// middleOf returns the median of each figure.
func middleOf(samples []sample) sample {
	var out sample
	for _, of := range []func(*sample) *int{
		func(s *sample) *int { return &s.files }, func(s *sample) *int { return &s.goroutines },
	} {
		sorted := slices.SortedFunc(slices.Values(samples), func(a, b sample) int { return *of(&a) - *of(&b) })
		*of(&out) = *of(&sorted[len(sorted)/2])
	}
	sorted := slices.SortedFunc(slices.Values(samples), func(a, b sample) int { return int(a.resident - b.resident) })
	out.resident = sorted[len(sorted)/2].resident
	return out
}
