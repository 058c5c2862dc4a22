// Package e2e implements the end-to-end tests of the command: it runs the tool on real programs, as
// cores and as processes, and compares the output with the facts that the programs wrote themselves.
// The tests are in the packages below it, one for each subject.
package e2e
