process FASTFS_REPORT {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(table)
    val label

    output:
    tuple val(meta), path("${prefix}.html"), emit: html
    tuple val(meta), path("${prefix}.json"), emit: json
    tuple val(meta), path("${prefix}.csv") , emit: csv
    path "versions.yml"                    , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix   = task.ext.prefix ?: "${meta.id}_fastfs"
    """
    fastfs report '${table}' \\
        --label '${label}' \\
        --out '${prefix}.html' \\
        --threads ${task.cpus} \\
        ${args}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        fastfs: \$(fastfs --version)
    END_VERSIONS
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}_fastfs"
    """
    touch '${prefix}.html' '${prefix}.json' '${prefix}.csv'

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        fastfs: \$(fastfs --version)
    END_VERSIONS
    """
}
