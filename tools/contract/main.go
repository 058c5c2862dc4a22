// Command contract generates all files that follow from the declaration of the contract, which are the structs of
// packages picture and job: the JSON keys and the field numbers in their tags, their types, and their comments.
//
//	proto/ompd/v1/picture.proto   a message for each struct that the API carries
//	proto/*.schema.json           a JSON schema for each form that a verb prints
//	proto/ompd/v1/*.pb.go         the Go code of all .proto files, without protoc: they are parsed by protocompile,
//	                              and the two plug-ins are those that this module pins
//	proto/ompd/v1/api.txt         every element of the API; listed elements must not be removed or changed
//
// A field's schema follows from its type. The tag `schema:"min=1"` adds the limits that a type lacks: min, max,
// minlen, minitems, pattern, format, enum (words, separated by |), const (the name of a constant), null (an
// address that may be 0), empty (a word that may be missing though the key is there).
//
//	go run ./contract -root ..
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "root of the module")
	out := flag.String("out", "", "directory to write to, laid out as the root is (default: the root)")
	breaking := flag.Bool("breaking", false, "remove missing and changed elements from api.txt")
	flag.Parse()
	if *out == "" {
		*out = *root
	}
	if err := run(*root, *out, *breaking); err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

// apiDir is the directory of the .proto files, relative to the root of their imports.
const apiDir = "ompd/v1"

func run(root, out string, breaking bool) error {
	m, err := load(root, "picture", "internal/jobs/job")
	if err != nil {
		return err
	}
	files, err := m.schemas()
	if err != nil {
		return err
	}
	picture, err := m.proto()
	if err != nil {
		return err
	}
	files[apiDir+"/picture.proto"] = picture
	compiled, err := compile(filepath.Join(root, "proto"), apiDir, files)
	if err != nil {
		return err
	}
	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := generate(plugin, request(compiled), files); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	list := apiDir + "/api.txt"
	was, err := os.ReadFile(filepath.Join(root, "proto", list))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if files[list], err = apiList(compiled, string(was), breaking); err != nil {
		return err
	}
	for name, content := range files {
		name = filepath.Join(out, "proto", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
