package dap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// FuzzServe sends any bytes after an attach to a core. The adapter ends with its input, answers the valid
// requests, and does not panic.
func FuzzServe(f *testing.F) {
	c := goldenConfig(f)
	head := frameRequest("initialize", `{"adapterID":"x","supportsInvalidatedEvent":true}`) +
		frameRequest("configurationDone", "{}") + frameRequest("attach", `{"target":"core"}`) +
		frameRequest("threads", "{}")
	for command, arguments := range map[string]string{
		"stackTrace": `{"threadId":5502,"startFrame":-1,"levels":9999999999}`, "scopes": `{"frameId":1}`,
		"variables": `{"variablesReference":-1,"start":-5,"count":-5}`, "modules": `{"startModule":-1}`,
		"completions": `{"text":"omp \u00e4","column":-7}`, "evaluate": `{"expression":"$omp.","frameId":0}`,
		"readMemory":  `{"memoryReference":"0xffffffffffffffff","count":100}`,
		"disassemble": `{"memoryReference":"-1","instructionOffset":-9,"instructionCount":4}`, "disconnect": "{}",
		"exceptionInfo": `{"threadId":-1}`, "pause": "[]", "ompd/waitGraph": "null", "cancel": `{"requestId":1}`,
	} {
		f.Add(frameRequest(command, arguments))
	}
	f.Add("Content-Length: 18446744073709551615\r\n\r\n")
	f.Fuzz(func(t *testing.T, tail string) {
		var out bytes.Buffer
		c := c
		c.Log = func(text string) { t.Errorf("%q: %s", tail, text) }
		_ = dap.Serve(t.Context(), strings.NewReader(head+tail), &out, c)
		if !strings.Contains(out.String(), `"event":"initialized"`) {
			t.Errorf("%q: %s", tail, &out)
		}
	})
}

// goldenConfig returns a configuration that opens a golden core for every target.
func goldenConfig(f *testing.F) dap.Config {
	f.Helper()
	dir, err := os.MkdirTemp("", "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { os.RemoveAll(dir) })
	g, err := omptest.UnpackGolden("../../../testdata/golden", "gnu-barrier", dir)
	if err != nil {
		f.Fatal(err)
	}
	c := config()
	c.Open = func(ctx context.Context, _ dap.Attach) (*engine.Target, error) {
		return engine.Open(ctx, g.Core, engine.Options{Exe: g.Exe, Sysroot: g.Sysroot})
	}
	return c
}

// frameRequest returns the bytes of a request.
func frameRequest(command, arguments string) string {
	name, _ := json.Marshal(command)
	content := fmt.Sprintf(`{"seq":7,"type":"request","command":%s,"arguments":%s}`, name, arguments)
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(content), content)
}
