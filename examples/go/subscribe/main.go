// Handles each result once: subscribe FILE. A line of the file is both the effect of an event and the memory of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

// The fields that are used; hamba/avro passes over all others of the writer's schema.
type commandResult struct {
	CommandKey  string       `avro:"commandKey"`
	Revision    int          `avro:"revision"`
	Outcome     string       `avro:"outcome"`
	Quote       *quote       `avro:"quote"`
	Transaction *transaction `avro:"transaction"`
	Source      source       `avro:"source"`
}

type source struct {
	Topic     string `avro:"topic"`
	Partition int    `avro:"partition"`
	Offset    int64  `avro:"offset"`
}

type quote struct {
	TransactionID *string `avro:"transactionId"`
}

type transaction struct {
	ID string `avro:"id"`
}

func main() {
	if err := subscribe(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func subscribe() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: subscribe FILE")
	}
	journal, err := openJournal(os.Args[1])
	if err != nil {
		return err
	}
	defer journal.file.Close()
	registry, err := sr.NewClient(sr.URLs(os.Getenv("SCHEMA_REGISTRY_URL")))
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_BROKERS"), ",")...),
		kgo.ConsumeTopics(valueOr("TOPIC_PREFIX", "payments")+".results.v1"),
		kgo.ConsumerGroup(valueOr("GROUP_ID", "billing")),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		// Else results are read that never came about.
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	schemas := map[int]avro.Schema{}
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		for _, failed := range fetches.Errors() {
			return failed.Err
		}
		for _, record := range fetches.Records() {
			// What cannot be read ends the program, with nothing committed: better than passing over news of money.
			result, err := decode(ctx, registry, schemas, record.Value)
			if err != nil {
				return fmt.Errorf("partition %d offset %d: %w", record.Partition, record.Offset, err)
			}
			// Two commands under one key have results with the same ce_id, but not at the same time.
			if err := journal.handle(header(record, "ce_id")+" "+header(record, "ce_time"), result); err != nil {
				return err
			}
			if err := client.CommitRecords(ctx, record); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
		}
	}
}

// The value is a zero byte, the id of the writer's schema, and the Avro bytes.
func decode(ctx context.Context, registry *sr.Client, schemas map[int]avro.Schema, value []byte) (commandResult, error) {
	var result commandResult
	var frame sr.ConfluentHeader
	id, bytes, err := frame.DecodeID(value)
	if err != nil {
		return result, err
	}
	schema, known := schemas[id]
	if !known {
		found, err := registry.SchemaByID(ctx, id)
		if err != nil {
			return result, err
		}
		if schema, err = avro.Parse(found.Schema); err != nil {
			return result, err
		}
		schemas[id] = schema
	}
	return result, avro.Unmarshal(schema, bytes, &result)
}

func header(record *kgo.Record, name string) string {
	for _, header := range record.Headers {
		if header.Key == name {
			return string(header.Value)
		}
	}
	return ""
}

func valueOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
