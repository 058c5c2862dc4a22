// Package report tests the report of cores: threads, regions, tasks, stacks and loops of all compilers and runtimes,
// damaged and incomplete cores, and the time and memory that a report takes.
package report

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, nil) }
