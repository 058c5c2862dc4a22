package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// Entry is a rank in the table that a launcher keeps for debuggers (MPIR_proctable).
type Entry struct {
	Host string
	PID  int
}

// What is read of a launcher's table: more ranks than that no machine has, and names have an
// end.
const (
	maxTable    = 1 << 22
	entrySize   = 24 // host, executable, process
	maxHostName = 256
)

// Table reads the table of ranks of a launcher: srun and Open MPI's mpirun 4 fill theirs
// whether a debugger is there or not. It is empty for a launcher that has none.
func Table(ctx context.Context, pid int, o session.Options) (list []Entry, err error) {
	t, err := session.Open(ctx, strconv.Itoa(pid), o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	err = t.Read(ctx, func(ct callbacks.Target) error {
		list = nil
		size, err := variable(ct, "MPIR_proctable_size", 4)
		if err != nil || size == 0 || size > maxTable {
			return nil // no table
		}
		at, err := variable(ct, "MPIR_proctable", 8)
		if err != nil {
			return nil
		}
		b := make([]byte, entrySize*size)
		if err := ct.ReadMemory(callbacks.At(at), b); err != nil {
			return err
		}
		for e := range slices.Chunk(b, entrySize) {
			list = append(list, Entry{hostName(ct, callbacks.Word(e[:8])), int(int32(callbacks.Word(e[16:20])))})
		}
		return nil
	})
	return list, err
}

// variable reads a number of the launcher's.
func variable(t callbacks.Target, name string, size uint64) (uint64, error) {
	at, err := t.Symbol(name, "")
	if err != nil {
		return 0, err
	}
	return layout.ReadUint(t, at, size)
}

// hostName reads a string of the launcher's; what can be read counts.
func hostName(t callbacks.Target, at uint64) string {
	var out []byte
	for b := make([]byte, 1); len(out) < maxHostName; at++ {
		if t.ReadMemory(callbacks.At(at), b) != nil || b[0] == 0 {
			break
		}
		out = append(out, b[0])
	}
	return string(out)
}

// Node is a node of a job, and why it cannot be asked; empty if it can.
type Node struct{ Name, Dead string }

// SlurmNodes are the nodes of a job of Slurm, as its own commands tell.
func SlurmNodes(ctx context.Context, id string) ([]Node, error) {
	base, _, _ := strings.Cut(id, ".")
	out, err := output(ctx, "squeue", "-h", "-j", base, "-o", "%N")
	if err != nil {
		return nil, err
	}
	nodes := strings.TrimSpace(out)
	if nodes == "" {
		return nil, fmt.Errorf("job %s of Slurm runs on no node: `squeue -j %s` shows it", base, base)
	}
	out, err = output(ctx, "sinfo", "-h", "-N", "-n", nodes, "-o", "%N %T")
	if err != nil {
		return nil, err
	}
	return nodesIn(out), nil
}

// nodesIn are the nodes of an answer of sinfo, each once.
func nodesIn(out string) (list []Node) {
	known := map[string]bool{}
	for line := range strings.Lines(out) {
		name, state, _ := strings.Cut(strings.TrimSpace(line), " ")
		n := Node{Name: name}
		n.Dead = deadState(state)
		if name != "" && !known[name] {
			known[name] = true
			list = append(list, n)
		}
	}
	return list
}

// deadState says why a node in a state of Slurm's cannot be asked, empty if it can.
func deadState(state string) string {
	state, silent := strings.CutSuffix(state, "*")
	switch {
	case strings.Contains(state, "down"):
		return "Slurm says that the node is " + state
	case silent:
		return "Slurm says that the node does not respond (" + state + "*)"
	}
	return ""
}

// output is the standard output of a command.
func output(ctx context.Context, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	said, out := &tail{}, &listing{}
	cmd.Stdout, cmd.Stderr = out, said
	err := cmd.Run()
	if err != nil && said.line() != "" {
		return "", fmt.Errorf("%s: %w: %s", argv[0], err, said.line())
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", argv[0], err)
	}
	return string(out.b), nil
}

// maxListing bounds what a command says of nodes or pods, in bytes: Slurm has 64 Ki nodes at most.
const maxListing = 64 << 20

// listing keeps what a command says.
type listing struct{ b []byte }

// Write implements io.Writer.
func (l *listing) Write(p []byte) (int, error) {
	if len(l.b)+len(p) > maxListing {
		return 0, fmt.Errorf("it says more than %d bytes", maxListing)
	}
	l.b = append(l.b, p...)
	return len(p), nil
}

// Remote are words to run on another machine, which begin with the tool.
type Remote struct {
	Tool string // its path there
	Args []string
	Send string // the tool's file here, if it has to be sent; its path there does not count then
}

// Where srun puts the tool on the nodes, and how its name begins there.
const (
	SentDir  = "/tmp"
	SentName = "ompd-inspect-"
)

// Srun is the errand that runs something once on each of some nodes of a job of Slurm.
func Srun(id string, nodes []string, r Remote) Errand {
	base, _, _ := strings.Cut(id, ".")
	n := strconv.Itoa(len(nodes))
	argv := []string{
		"srun", "--jobid=" + base, "--overlap", "--mpi=none", "--mem=0", "--cpu-bind=none", "--quiet",
		"-w", strings.Join(nodes, ","), "-N", n, "-n", n, "--ntasks-per-node=1",
	}
	if r.Send != "" {
		r.Tool = filepath.Join(SentDir, fmt.Sprintf("%s%d-%d", SentName, os.Getuid(), os.Getpid()))
		argv = append(argv, "--bcast="+r.Tool)
		argv = append(argv, r.Send)
		return Errand{Host: "job " + id, Argv: append(argv, r.Args...)}
	}
	return Errand{Host: "job " + id, Argv: append(append(argv, r.Tool), r.Args...)}
}

// sendScript runs the tool from its standard input, and leaves nothing behind.
const sendScript = `d=$(mktemp -d) && cat >"$d/t" && chmod 700 "$d/t" && "$d/t" "$@"; s=$?; rm -rf "$d"; exit $s`

// Via is the errand that runs something on a host by a command in which {host} stands for
// it, such as "ssh {host}" or "kubectl exec -i {host} --".
func Via(template, host string, r Remote) (Errand, error) {
	words := strings.Fields(template)
	if len(words) == 0 || !strings.Contains(template, "{host}") {
		const words = "%q is no command for a host: it has to have {host} in it, as in \"ssh {host}\""
		return Errand{}, fmt.Errorf(words, template)
	}
	if host == "" || strings.HasPrefix(host, "-") {
		return Errand{}, fmt.Errorf("%q is no name of a host", host)
	}
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "{host}", host)
	}
	command := append([]string{r.Tool}, r.Args...)
	if r.Send != "" {
		command = append([]string{"sh", "-c", sendScript, "ompd-inspect"}, r.Args...)
	}
	if shells := []string{"ssh", "rsh", "clush", "pdsh"}; slices.Contains(shells, filepath.Base(words[0])) {
		var quoted []string // a shell there reads the line
		for _, w := range command {
			quoted = append(quoted, Quote(w))
		}
		command = []string{strings.Join(quoted, " ")}
	}
	return Errand{Host: host, Argv: append(words, command...), Send: r.Send}, nil
}

// Quote is a word as a shell reads it back.
func Quote(w string) string { return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'" }
