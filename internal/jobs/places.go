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
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// Entry is a rank in the table that a launcher keeps for debuggers (MPIR_proctable).
type Entry struct {
	Host string
	PID  int
}

// Limits of a launcher's table: no machine has more ranks, and names are shorter.
const (
	maxTable    = 1 << 22
	entrySize   = 24 // host, executable, process
	maxHostName = 256
)

// Table reads the table of ranks of a launcher. srun and Open MPI's mpirun 4 fill it even without a debugger.
// It is empty for other launchers.
func Table(ctx context.Context, pid int, o engine.Options) (list []Entry, err error) {
	t, err := engine.Open(ctx, strconv.Itoa(pid), o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	err = t.Read(ctx, func(ct callbacks.Target) error {
		list = nil
		size, err := readVariable(ct, "MPIR_proctable_size", 4)
		if err != nil || size == 0 || size > maxTable {
			return nil // the launcher has no table
		}
		at, err := readVariable(ct, "MPIR_proctable", 8)
		if err != nil {
			return nil
		}
		b := make([]byte, entrySize*size)
		if err := ct.ReadMemory(callbacks.Addr(at), b); err != nil {
			return err
		}
		for e := range slices.Chunk(b, entrySize) {
			list = append(list, Entry{readHostName(ct, callbacks.Word(e[:8])), int(int32(callbacks.Word(e[16:20])))})
		}
		return nil
	})
	return list, err
}

// readVariable reads a number of the launcher's memory.
func readVariable(t callbacks.Target, name string, size uint64) (uint64, error) {
	at, err := t.Symbol(name, "")
	if err != nil {
		return 0, err
	}
	return layout.ReadUint(t, at, size)
}

// readHostName reads a string of the launcher's memory, up to the first byte that cannot be read.
func readHostName(t callbacks.Target, at uint64) string {
	var out []byte
	for b := make([]byte, 1); len(out) < maxHostName; at++ {
		if t.ReadMemory(callbacks.Addr(at), b) != nil || b[0] == 0 {
			break
		}
		out = append(out, b[0])
	}
	return string(out)
}

// Node is a node of a job. Dead is the reason why it cannot be asked; empty if it can.
type Node struct{ Name, Dead string }

// SlurmNodes returns the nodes of a Slurm job, by Slurm's own commands.
func SlurmNodes(ctx context.Context, id string) ([]Node, error) {
	base, _, _ := strings.Cut(id, ".")
	out, err := commandOutput(ctx, "squeue", "-h", "-j", base, "-o", "%N")
	if err != nil {
		return nil, err
	}
	nodes := strings.TrimSpace(out)
	if nodes == "" {
		return nil, fmt.Errorf("job %s of Slurm runs on no node: `squeue -j %s` shows it", base, base)
	}
	out, err = commandOutput(ctx, "sinfo", "-h", "-N", "-n", nodes, "-o", "%N %T")
	if err != nil {
		return nil, err
	}
	return parseNodes(out), nil
}

// parseNodes returns the nodes in the output of sinfo, each once.
func parseNodes(out string) (list []Node) {
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

// deadState returns the reason why a node in a state of Slurm cannot be asked; "" if it can.
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

// commandOutput returns the standard output of a command.
func commandOutput(ctx context.Context, argv ...string) (string, error) {
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

// maxListing bounds a command's output about nodes or pods, in bytes: Slurm has 64 Ki nodes at most.
const maxListing = 64 << 20

// listing keeps the output of a command.
type listing struct{ b []byte }

// Write implements io.Writer.
func (l *listing) Write(p []byte) (int, error) {
	if len(l.b)+len(p) > maxListing {
		return 0, fmt.Errorf("its output has more than %d bytes", maxListing)
	}
	l.b = append(l.b, p...)
	return len(p), nil
}

// Remote is a command of the tool for another machine.
type Remote struct {
	Tool string // path there
	Args []string
	Send string // the tool's file on this machine, if it must be sent; then its path there is ignored
}

// Directory to which srun copies the tool on the nodes, and the prefix of its name there.
const (
	SentDir  = "/tmp"
	SentName = "ompd-inspect-"
)

// Srun returns the errand that runs a command once on each of some nodes of a Slurm job.
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

// sendScript runs the tool from its standard input, and removes it afterwards.
const sendScript = `d=$(mktemp -d) && cat >"$d/t" && chmod 700 "$d/t" && "$d/t" "$@"; s=$?; rm -rf "$d"; exit $s`

// Via returns the errand that runs a command on a host, by a template in which {host} is replaced, such as "ssh
// {host}" or "kubectl exec -i {host} --".
func Via(template, host string, r Remote) (Errand, error) {
	words := strings.Fields(template)
	if len(words) == 0 || !strings.Contains(template, "{host}") {
		const words = "%q is not a command for a host: it must contain {host}, as in \"ssh {host}\""
		return Errand{}, fmt.Errorf(words, template)
	}
	if host == "" || strings.HasPrefix(host, "-") {
		return Errand{}, fmt.Errorf("%q is not the name of a host", host)
	}
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "{host}", host)
	}
	command := append([]string{r.Tool}, r.Args...)
	if r.Send != "" {
		command = append([]string{"sh", "-c", sendScript, "ompd-inspect"}, r.Args...)
	}
	if shells := []string{"ssh", "rsh", "clush", "pdsh"}; slices.Contains(shells, filepath.Base(words[0])) {
		var quoted []string // a shell on the host parses the line
		for _, w := range command {
			quoted = append(quoted, Quote(w))
		}
		command = []string{strings.Join(quoted, " ")}
	}
	return Errand{Host: host, Argv: append(words, command...), Send: r.Send}, nil
}

// Quote returns a word quoted for a shell.
func Quote(w string) string { return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'" }
