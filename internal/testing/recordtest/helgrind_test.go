package recordtest

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// lockOrder matches helgrind's message on locks that were acquired in another order.
var lockOrder = regexp.MustCompile(`lock order "0x([0-9A-F]+) before 0x([0-9A-F]+)" violated`)

// TestHelgrind runs valgrind's helgrind on twins of orders.c's cases: it finds the same inversions as
// TestLockOrders. It has false alarms if a lock that both threads hold or a join separates the orders, if there
// is only one thread, and if one lock is only tested.
func TestHelgrind(t *testing.T) {
	if !omptest.Full() {
		t.Skip("in make matrix: it needs valgrind")
	}
	exe := build(t, "gcc", "orders.c", "-DTWIN", "-w")
	cmd := exec.Command(omptest.Program(t, "valgrind"), "--tool=helgrind", "--fair-sched=yes", exe)
	var said, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	_, list, ok := strings.Cut(said.String(), "READY")
	reader := strings.NewReader(list)
	var size uint64
	if _, err := fmt.Fscan(reader, &size); !ok || err != nil {
		t.Fatalf("%q: %v", &said, err)
	}
	violated := lockOrder.FindAllStringSubmatch(log.String(), -1)
	var found, alarms []string
	for {
		var c orderCase
		if _, err := fmt.Fscan(reader, &c.name, &c.want, &c.at); err != nil {
			break
		}
		of := func(m []string) bool {
			lock, err := strconv.ParseUint(m[1], 16, 64)
			return err == nil && lock-c.at < size
		}
		switch {
		case !slices.ContainsFunc(violated, of):
		case c.want != 0:
			found = append(found, c.name)
		default:
			alarms = append(alarms, c.name)
		}
	}
	if want := []string{"two", "three", "gate_of_one", "gate_inside", "nested_lock"}; !slices.Equal(found, want) {
		t.Errorf("helgrind finds %q, want %q", found, want)
	}
	if want := []string{"gate", "nested_gate", "join_between", "one_thread", "tests"}; !slices.Equal(alarms, want) {
		t.Errorf("helgrind has false alarms at %q, want %q", alarms, want)
	}
}
