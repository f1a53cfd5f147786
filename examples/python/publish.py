"""Publishes one transfer-in as Avro: python publish.py KEY AMOUNT."""

import os
import sys
import uuid

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

key, amount = sys.argv[1], int(sys.argv[2])
topic = os.environ.get('TOPIC_PREFIX', 'payments') + '.commands.transfer-in.v1'

registry = SchemaRegistryClient({'url': os.environ['SCHEMA_REGISTRY_URL']})
schema = registry.get_latest_version(topic + '-value').schema.schema_str
serialize = AvroSerializer(registry, schema, conf={'auto.register.schemas': False, 'use.latest.version': True})
producer = Producer({
    'bootstrap.servers': os.environ['KAFKA_BROKERS'],
    # Kafka's own partitioner, not librdkafka's default: the partition of a key is its lane.
    'partitioner': 'murmur2_random',
    'enable.idempotence': True,
    'acks': 'all',
})
reports = []
command = {
    'source': {'accountId': 'ExternalAccount:1'},
    'destination': {'accountId': 'InternalAccount:1'},
    'amount': amount,
}
producer.produce(
    topic,
    key=key.encode('ascii'),  # raw bytes: the idempotency key
    value=serialize(command, SerializationContext(topic, MessageField.VALUE)),
    headers={'content-type': 'application/avro', 'ce_id': str(uuid.uuid4())},
    on_delivery=lambda error, message: reports.append((error, message)),
)
producer.flush(30)
if not reports or reports[0][0] is not None:
    # It may have arrived all the same. One key is one command, so a copy does no harm.
    sys.exit(f'not confirmed ({reports[0][0] if reports else "no answer"}): publish it again with the same key {key}')
message = reports[0][1]
print(f'published {key} to {message.topic()} partition {message.partition()} offset {message.offset()}')
