# The processor and its command line. Built from the repository's root: docker build --tag payment-processor .
# There is no build step: Node runs the TypeScript sources as they are.

FROM node:24.9.0-slim AS dependencies
WORKDIR /app
# The install step applies the patches of kafkajs: never with --ignore-scripts.
COPY package.json package-lock.json .npmrc ./
# Those of development are left out: sandbox and local Kafka.
COPY packages/contract/package.json ./packages/contract/
COPY packages/client/package.json ./packages/client/
COPY packages/cli/package.json ./packages/cli/
COPY patches ./patches
RUN npm ci --omit=dev --no-audit
COPY Dockerfile ./
COPY dev/image ./dev/image
RUN node dev/image/bill-of-materials.ts

# For compose.yaml alone: the payment service's sandbox. No later stage takes anything from here.
FROM node:24.9.0-slim AS sandbox
ENV NODE_ENV=production
WORKDIR /app
COPY package.json ./
COPY packages/contract ./packages/contract
COPY packages/sandbox ./packages/sandbox
COPY --from=dependencies /app/node_modules ./node_modules
USER 1000:1000
CMD ["node", "packages/sandbox/src/main.ts", "--port", "8790"]

FROM node:24.9.0-slim AS processor
# As in package.json.
LABEL org.opencontainers.image.title="payment-processor" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
# glibc's: two arenas for all threads, and what is freed goes back to the system; some 30 MiB less at full speed.
ENV NODE_ENV=production \
    HTTP_HOST=0.0.0.0 \
    STATE_DIR=/var/lib/payment-processor \
    MALLOC_ARENA_MAX=2 \
    MALLOC_TRIM_THRESHOLD_=131072
WORKDIR /app
COPY package.json LICENSE ./
COPY schemas ./schemas
COPY docs/runbooks ./docs/runbooks
COPY src ./src
COPY packages/contract ./packages/contract
COPY packages/client ./packages/client
COPY packages/cli ./packages/cli
COPY --from=dependencies /app/node_modules ./node_modules
# What is in here, in CycloneDX.
COPY --from=dependencies /app/bill-of-materials.cdx.json ./
RUN mkdir -p /var/lib/payment-processor && chown 1000:1000 /var/lib/payment-processor
VOLUME /var/lib/payment-processor
# By number, so that Kubernetes can see that it is not root.
USER 1000:1000
EXPOSE 8080
# Live, not ready: a restart does not help a process that waits for Kafka or the payment service.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HTTP_PORT || 8080}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# As the start script of package.json. A young generation of tens of megabytes would gain nothing here.
CMD ["node", "--max-semi-space-size=8", "--no-parallel-scavenge", "src/main.ts"]
