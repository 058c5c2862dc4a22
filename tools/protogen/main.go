// Command protogen makes the Go code of proto/ompd/v1, without protoc and
// without anything that is installed: it parses the files with protocompile and
// runs the two plug-ins that this module pins.
//
//	go run ./protogen -root ../proto -out ../proto
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	root := flag.String("root", ".", "directory that imports are relative to")
	out := flag.String("out", ".", "directory below which the code is written, laid out as below root")
	dir := flag.String("dir", "ompd/v1", "directory below root whose files are compiled")
	flag.Parse()
	if err := run(*root, *out, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(root, out, dir string) error {
	req, err := request(root, dir)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := generate(plugin, req, files); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	for name, content := range files {
		name = filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// request describes all files of dir and what they import, imports first.
func request(root, dir string) (*pluginpb.CodeGeneratorRequest, error) {
	names, err := filepath.Glob(filepath.Join(root, dir, "*.proto"))
	if err != nil || len(names) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%d .proto files below %s", len(names), root))
	}
	for i, name := range names {
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return nil, err
		}
		names[i] = filepath.ToSlash(rel)
	}
	slices.Sort(names)
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return nil, err
	}
	req := &pluginpb.CodeGeneratorRequest{FileToGenerate: names, Parameter: proto.String("paths=source_relative")}
	seen := map[string]bool{}
	for _, f := range files {
		add(req, seen, f)
	}
	return req, nil
}

// add appends a file behind those that it imports.
func add(req *pluginpb.CodeGeneratorRequest, seen map[string]bool, f protoreflect.FileDescriptor) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		add(req, seen, f.Imports().Get(i).FileDescriptor)
	}
	var d *descriptorpb.FileDescriptorProto = protoutil.ProtoFromFileDescriptor(f)
	req.ProtoFile = append(req.ProtoFile, d)
}

// generate runs one plug-in and adds the files that it makes.
func generate(plugin string, req *pluginpb.CodeGeneratorRequest, files map[string][]byte) error {
	in, err := proto.Marshal(req)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", plugin)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	b, err := cmd.Output()
	if err != nil {
		return err
	}
	var resp pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(b, &resp); err != nil {
		return err
	}
	if resp.Error != nil {
		return errors.New(resp.GetError())
	}
	for _, f := range resp.File {
		files[f.GetName()] = []byte(f.GetContent())
	}
	return nil
}
