"""Follows one payment by its command's key alone, until it is settled: python follow.py KEY [SECONDS].

Killed and started again, in whatever process, it reads the topics again and goes on.
"""

import os
import sys
import time
import uuid

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

NOT_PAID = ('REFUSED', 'INVALID', 'EXPIRED', 'FAILED')
# A payment usually ends there; COMPLETED may still become REFUNDED.
SETTLED = ('COMPLETED', 'FAILED', 'REJECTED', 'REFUNDED', 'EXPIRED')

key = sys.argv[1]
deadline = time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 300)
prefix = os.environ.get('TOPIC_PREFIX', 'payments')
results, changes = prefix + '.results.v1', prefix + '.events.transaction-status-changed.v1'
registry = SchemaRegistryClient({'url': os.environ['SCHEMA_REGISTRY_URL']})


def deserializer(record):
    schemas = os.path.join(os.path.dirname(__file__), '..', '..', 'schemas', 'bundle')
    with open(os.path.join(schemas, record + '.avsc'), encoding='utf-8') as file:
        # By our own schema: events of earlier releases, which have no commandKeys, get an empty list.
        return AvroDeserializer(registry, file.read())


deserialize = {results: deserializer('CommandResult'), changes: deserializer('TransactionStatusChanged')}
consumer = Consumer({
    'bootstrap.servers': os.environ['KAFKA_BROKERS'],
    # A group of its own, which commits nothing: all that the topics still keep is read.
    'group.id': f'follow-{uuid.uuid4()}',
    'auto.offset.reset': 'earliest',
    'enable.auto.commit': False,
    'isolation.level': 'read_committed',
    'enable.partition.eof': True,
})
consumer.subscribe([results, changes])
print(f'following {key}', flush=True)
# A key may name several transactions: a quote that ran out is made anew. The result says which one counts.
outcome, revision, source, paid, statuses, ended = None, 0, None, None, {}, None
is_decided = False  # by an operator
read = set()  # the partitions that are read to their end
unpaid = set()  # transactions whose quote was never executed
while ended is None and time.monotonic() < deadline:
    message = consumer.poll(0.5)
    if message is None:  # a broker may only be slow: that is no end
        continue
    place = (message.topic(), message.partition())
    if message.error():
        if message.error().code() != KafkaError._PARTITION_EOF:
            raise KafkaException(message.error())
        read.add(place)
        if not read >= {(one.topic, one.partition) for one in consumer.assignment()}:
            continue
        # All is read for now, so nothing later says otherwise: no retry of an operator, no refund.
        if outcome in NOT_PAID:
            ended = f'{key} not accepted: {outcome}'
        # If an operator said that it was paid, an expired transaction is not the one, or not the last word.
        elif outcome == 'ACCEPTED' and statuses.get(paid) in SETTLED and not (is_decided and paid in unpaid):
            ended = f'{key} settled: {statuses[paid]} of {paid}'
        continue
    read.discard(place)
    topic = message.topic()
    value = deserialize[topic](message.value(), SerializationContext(topic, MessageField.VALUE))
    if topic == changes:
        # Of all payments: an operator may decide, after the last event of a payment, that this command made it.
        statuses[value['transactionId']] = value['status']
        is_unpaid = value['status'] == 'EXPIRED' or value['failureReason'] == 'QUOTE_EXPIRED'
        (unpaid.add if is_unpaid else unpaid.discard)(value['transactionId'])
        if key in value['commandKeys']:
            print(f'{key}: {value["status"]} of {value["transactionId"]}, seen by {value["observedBy"]}', flush=True)
    elif (
        topic == results
        and value['commandKey'] == key
        and value['outcome'] != 'CONFLICT'
        # A key that was forgotten may name a later command, of another source.
        and (value['source'] != source or value['revision'] > revision)
    ):
        outcome, revision, source = value['outcome'], value['revision'], value['source']
        is_decided = value['settledBy'] == 'OPERATOR'
        paid = (value['transaction'] or {}).get('id') or (value['quote'] or {}).get('transactionId')
        print(f'{key}: {outcome}, revision {revision}', flush=True)
consumer.close()
if ended is None:
    known = {None: 'nothing known', 'ACCEPTED': f'still open: {statuses.get(paid)}'}
    sys.exit(f'{key} {known.get(outcome, f"{outcome}: it may have been paid")}, in the time that was given')
print(ended)
