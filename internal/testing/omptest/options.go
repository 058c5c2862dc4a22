package omptest

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// OptionsVariable is the environment variable with the options of a campaign (internal/testing/campaign), as words
// NAME=VALUE. An ordinary test run does not set it.
const OptionsVariable = "OMPD_CAMPAIGN"

// Option returns an option of the campaign, or "" if it is unset.
func Option(name string) string {
	for _, word := range strings.Fields(os.Getenv(OptionsVariable)) {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			return value
		}
	}
	return ""
}

// KeepDir returns the directory of the option keep, which it creates; "" without the option.
func KeepDir(tb testing.TB) string {
	tb.Helper()
	dir := Option("keep")
	if dir == "" {
		return ""
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// Number returns an option that is a number, or otherwise if it is unset.
func Number(tb testing.TB, name string, otherwise int) int {
	tb.Helper()
	text := Option(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatalf("option %s of %s: %v", name, OptionsVariable, err)
	}
	return n
}
