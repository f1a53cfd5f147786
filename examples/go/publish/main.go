// Publishes one transfer-in as JSON, which needs no registry: publish KEY AMOUNT.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type account struct {
	AccountID string `json:"accountId"`
}

type transferIn struct {
	Source      account `json:"source"`
	Destination account `json:"destination"`
	// int64: amounts keep all their digits.
	Amount int64 `json:"amount"`
}

func main() {
	if err := publish(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func publish() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: publish KEY AMOUNT")
	}
	key := os.Args[1]
	amount, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err != nil {
		return fmt.Errorf("the amount: %w", err)
	}
	value, err := json.Marshal(transferIn{account{"ExternalAccount:1"}, account{"InternalAccount:1"}, amount})
	if err != nil {
		return err
	}
	prefix := os.Getenv("TOPIC_PREFIX")
	if prefix == "" {
		prefix = "payments"
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_BROKERS"), ",")...),
		// Kafka's own hash: the partition of a key is its lane.
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordDeliveryTimeout(30*time.Second),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	record := &kgo.Record{
		Topic: prefix + ".commands.transfer-in.v1",
		Key:   []byte(key), // raw bytes: the idempotency key
		Value: value,
		Headers: []kgo.RecordHeader{
			{Key: "content-type", Value: []byte("application/json")},
			{Key: "ce_id", Value: []byte(rand.Text())},
		},
	}
	if err := client.ProduceSync(context.Background(), record).FirstErr(); err != nil {
		// It may have arrived all the same. One key is one command, so a copy does no harm.
		return fmt.Errorf("not confirmed (%w): publish it again with the same key %s", err, key)
	}
	fmt.Printf("published %s to %s partition %d offset %d\n", key, record.Topic, record.Partition, record.Offset)
	return nil
}
