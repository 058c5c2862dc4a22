// Package jobs tests job: the ranks of MPI jobs, on one machine and under Slurm and ssh.
package jobs

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, nil) }
