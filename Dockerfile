# One image: the worker, its sandbox and its SQL. Data lives in the volume /data; nothing else is written to but /tmp,
# so that the root file system may be read-only.
#   docker build -t signalhouse .
#   docker run --rm --env-file .env -v signalhouse:/data --read-only --tmpfs /tmp --stop-timeout 40 signalhouse sync
# An exact version. A tag may be replaced, so a release names the digest as well (release:check requires it):
#   docker build --build-arg BASE=docker.io/library/node:VERSION-bookworm-slim@sha256:... -t signalhouse .
# and `docker buildx imagetools inspect docker.io/library/node:VERSION-bookworm-slim` prints it.
ARG BASE=docker.io/library/node:24.21.0-bookworm-slim
FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts ./scripts
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY sql ./sql
# What --version names.
ARG REVISION=
RUN npm run build

FROM ${BASE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts/prepare.mjs ./scripts/
RUN npm ci --omit=dev && npm cache clean --force

# DuckDB's extensions for a lake, for machines that cannot reach extensions.duckdb.org; none by default:
#   docker build --build-arg DUCKDB_EXTENSIONS="httpfs avro iceberg" -t signalhouse .
FROM ${BASE} AS extensions
ARG DUCKDB_EXTENSIONS=""
WORKDIR /app
COPY package.json ./
RUN mkdir extensions \
  && if [ -n "$DUCKDB_EXTENSIONS" ]; then \
    version="$(node -p 'require("./package.json").dependencies["@duckdb/node-api"].split("-")[0]')" \
    && apt-get update && apt-get install -y --no-install-recommends python3-pip unzip \
    && for name in $DUCKDB_EXTENSIONS; do \
      pip download --no-deps --dest wheels "duckdb-extension-$name==$version" || exit 1; \
    done \
    && for wheel in wheels/*.whl; do unzip -jo "$wheel" '*.duckdb_extension' -d extensions || exit 1; done; \
  fi

FROM ${BASE}
# tini is process 1: it hands signals on and reaps, so that SIGTERM ends a sync in order.
RUN apt-get update \
  && apt-get install -y --no-install-recommends tini \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
ARG BASE
ARG VERSION=unreleased
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Signalhouse" \
  org.opencontainers.image.description="Keeps a local DuckDB warehouse in step with a Product-Signals API organization" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.base.name="${BASE}" \
  org.opencontainers.image.licenses="UNLICENSED"
ENV NODE_ENV=production SIGNALHOUSE_DATA_DIR=/data
# The C library keeps what large answers took, in one arena for each thread: without these, a night on 1,000,000 messages
# takes 60 MB more.
ENV MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=extensions /app/extensions ./extensions
COPY package.json README.md ./
COPY scripts/healthcheck.mjs ./scripts/
COPY config ./config
COPY docs ./docs
COPY sql ./sql
RUN ln -s /app/dist/main.js /usr/local/bin/signalhouse \
  && install -d -o node -g node -m 0700 /data
USER node
VOLUME /data
# Files named on the command line without a folder go to the volume.
WORKDIR /data
STOPSIGNAL SIGTERM
# Asks `serve` how it is; a command that ends by itself is well as long as it runs.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["node", "/app/scripts/healthcheck.mjs"]
ENTRYPOINT ["/usr/bin/tini", "--", "signalhouse"]
CMD ["--help"]
