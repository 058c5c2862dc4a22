// Package e2e tests the command on real programs: cores that the kernel, gdb and this
// tool made, and running processes, each as the command line shows it.
package e2e
