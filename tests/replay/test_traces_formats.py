"""Every format is found by its columns and read into the same jobs; published totals come out."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import pytest

from contract.problems import InvalidInput
from contract.work import Tier, WorkKind
from replay.trace import NO_DATE
from replay.traces.reader import TraceFormat
from replay.traces.registry import READERS, read_trace
from tests.replay.trace_files import SHIPPED, for_evaluation, read, written

# Jobs and GPU-hours as the publishers or their READMEs state them.
TOTALS = {
    "microsoft_itp_2021/cluster01.csv.gz": (1_595, 22_740.1),
    "microsoft_itp_2021/cluster10.csv.gz": (260, 4_023.5),
    "microsoft_itp_2021/testbed_195job.csv": (195, 5_489.8),
    "acme_kalos_2023/kalos_completed_large_jobs_day0-59.csv": (229, 353_250.0),
    "shockwave/shockwave_120jobs.csv": (120, 197.6),
    "tiresias/tiresias_60_job.csv": (60, 7.4),
    "muri/muri_testbed_64gpu.csv": (400, 61_343.6),
}
# Jobs, GPU-hours, rows that are no jobs on GPUs.
EVALUATED = {
    "microsoft_itp_2021/cluster03.csv.gz": (3_011, 165_442.5, 0),
    "microsoft_itp_2021/cluster04.csv.gz": (15_802, 705_682.9, 0),
    "microsoft_itp_2021/cluster05.csv.gz": (3_629, 14_303.1, 0),
    "microsoft_itp_2021/cluster07.csv.gz": (12_699, 366_799.8, 0),
    "microsoft_itp_2021/cluster09.csv.gz": (11_134, 39_000.8, 0),
    "philly_jobs/philly_jobs_2017-09-04_to_2017-10-29.csv.gz": (51_998, 616_926.7, 0),
    "chronus_philly_slo/trace_job_Philly_MIX1.csv.gz": (30_756, 6_188.8, 184),
    "chronus_philly_slo/trace_job_Philly_SLO.csv.gz": (30_735, 6_141.8, 205),
    "alibaba_dlrm_2025/disaggregated_DLRM_apps_mod3_01.csv.gz": (4_851, 1_613_415.1, 11_325),
    "alibaba_genai_2026/lora_request_trace_2024-11.csv.gz": (14_266, 104.8, 13),
    "small_sched_traces/shockwave_460jobs.csv": (460, 896.5, 0),
}


@pytest.mark.parametrize("name", TOTALS)
def test_a_shipped_trace_has_its_published_jobs_and_gpu_hours(name: str) -> None:
    trace = read_trace(SHIPPED / name)
    assert (len(trace.jobs), round(trace.gpu_hours, 1)) == TOTALS[name]
    assert trace.jobs[0].arrival_s == 0.0
    assert list(trace.jobs) == sorted(trace.jobs, key=lambda job: job.arrival_s)
    assert trace.bad_rows == ()


@pytest.mark.evaluation
@pytest.mark.parametrize("name", EVALUATED)
def test_a_trace_for_evaluation_has_its_stated_jobs_and_gpu_hours(name: str) -> None:
    trace = read_trace(for_evaluation(name))
    assert (len(trace.jobs), round(trace.gpu_hours, 1), trace.left_out) == EVALUATED[name]
    assert min(job.arrival_s for job in trace.jobs) == 0.0


def test_every_shipped_data_set_tells_source_and_licence() -> None:
    folders = [folder for folder in SHIPPED.iterdir() if folder.is_dir()]
    assert len(folders) >= 7
    assert [
        each.name for each in folders if not (each / "SOURCE.md").is_file() or not (each / "LICENSE").is_file()
    ] == []


def test_no_header_fits_two_formats() -> None:
    for reader in READERS.values():
        for header in (reader.required, reader.required + reader.optional):
            fits = [
                each.format for each in READERS.values() if not each.missing([*header]) and not each.unknown([*header])
            ]
            assert fits == [reader.format]


def test_every_format_of_the_list_has_its_reader() -> None:
    assert set(READERS) == set(TraceFormat)
    assert len(READERS) >= 8


def test_a_week_of_philly_has_its_departments_and_its_dates() -> None:
    trace = read_trace(SHIPPED / "philly" / "philly_2017-10-02_to_2017-10-08.csv.gz")
    assert len(trace.jobs) == 11_386
    assert trace.name == "philly_2017-10-02_to_2017-10-08"
    assert trace.starts_at == datetime(2017, 10, 2, 0, 1, 55, tzinfo=UTC)
    assert len({job.department for job in trace.jobs}) == 11


@pytest.mark.evaluation
@pytest.mark.skipif(sys.gettrace() is not None, reason="measuring coverage takes more time than reading")
def test_the_whole_of_philly_is_read_within_a_second_and_a_half() -> None:
    path = for_evaluation("philly_jobs/philly_jobs_2017-09-04_to_2017-10-29.csv.gz")
    took = []
    for _ in range(3):
        started = process_time()
        read_trace(path)
        took.append(process_time() - started)
    assert min(took) < 1.5


def test_deadlines_of_itp_keep_their_distance_from_the_arrival() -> None:
    trace = read_trace(SHIPPED / "microsoft_itp_2021" / "cluster01.csv.gz")
    first, second = trace.jobs[:2]
    assert (first.arrival_s, first.deadline_s) == (0.0, 1_933_904.0 - 1_932_025.0)
    assert (second.arrival_s, second.deadline_s) == (2_000_581.0 - 1_932_025.0, 2_002_204.0 - 1_932_025.0)


def test_raw_itp_tables_without_deadlines_are_read_too(tmp_path: Path) -> None:
    trace = read(tmp_path, "job_id,submission_time,duration,num_gpu", "6b2d9ccc,16566,3890,4")
    job = trace.jobs[0]
    assert (job.name, job.gpus, job.runtime_s, job.deadline_s) == ("6b2d9ccc", 4, 3_890.0, None)
    assert trace.starts_at == NO_DATE


def test_promises_of_chronus_become_tiers_and_jobs_without_gpus_are_left_out(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,"
        "expect_time_list,expect_value_list,best_effort,job_type",
        "0,vc_a,1,100,5,vgg,700,14,1105,10,0,strict",
        "1,vc_b,2,110,5,vgg,700,14,1000-2000,10-5,0,soft",
        "2,vc_b,4,120,5,vgg,700,14,120,10,1,best",
        "3,vc_b,0,130,5,vgg,700,14,130,10,1,best",
    )
    seen = [(job.department, job.tier, job.is_preemptible, job.deadline_s) for job in trace.jobs]
    assert seen == [
        ("vc_a", Tier.PRODUCTION_CORE, False, 1_105.0),
        ("vc_b", Tier.PRODUCTION, False, 2_010.0),
        ("vc_b", Tier.EXPLORATION, True, None),
    ]
    assert trace.left_out == 1


def test_a_deadline_of_chronus_that_is_none_is_a_problem(tmp_path: Path) -> None:
    header = "job_id,user,num_gpu,submit_time,duration,expect_time_list,job_type"
    with pytest.raises(InvalidInput, match="expect_time_list: 'soon' is no deadline"):
        read(tmp_path, header, "0,vc_a,1,100,700,soon,strict")


def test_types_of_acme_become_kinds() -> None:
    trace = read_trace(SHIPPED / "acme_kalos_2023" / "kalos_completed_large_jobs_day0-59.csv")
    kinds = [job.kind for job in trace.jobs]
    assert kinds.count(WorkKind.PRETRAINING) == 128
    assert kinds.count(WorkKind.FINETUNING) == 101
    assert max(job.gpus for job in trace.jobs) == 1_024


OPENB = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"


def test_pods_of_openb_run_from_scheduling_to_deletion_in_the_tier_of_their_quality(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        OPENB,
        "pod-0,1,1,1,1000,,LS,Running,50,200,60",
        "pod-1,1,1,8,1000,V100M16|V100M32,BE,Failed,70,90,80",
        "pod-2,1,1,1,1000,,Burstable,Succeeded,75,90,80",
        "pod-3,1,1,0,0,,LS,Running,50,200,60",
        "pod-4,1,1,1,1000,,LS,Pending,50,200,",
    )
    seen = [(job.arrival_s, job.runtime_s, job.gpus, job.tier, job.is_preemptible) for job in trace.jobs]
    assert seen == [
        (0.0, 140.0, 1, Tier.PRODUCTION_CORE, False),
        (20.0, 10.0, 8, Tier.EXPLORATION, True),
        (25.0, 10.0, 1, Tier.PRODUCTION, False),
    ]
    assert trace.left_out == 2


def test_a_share_of_a_gpu_is_a_bad_row_of_openb_that_can_be_left_out(tmp_path: Path) -> None:
    rows = (OPENB, "pod-0,1,1,1,460,,LS,Running,50,200,60", "pod-1,1,1,1,1000,,LS,Running,70,200,80")
    with pytest.raises(InvalidInput, match=r"jobs.csv:2: gpu_milli: 0.46 of a GPU is a share\n    fix: .*--skip-bad"):
        read(tmp_path, *rows)
    trace = read(tmp_path, *rows, skip_bad=True)
    assert [job.name for job in trace.jobs] == ["pod-1"]
    assert [problem.row for problem in trace.bad_rows] == [2]


def test_a_pod_of_openb_that_ends_before_it_starts_is_bad(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="deletion_time: a job cannot run for -10 s"):
        read(tmp_path, OPENB, "pod-0,1,1,1,1000,,LS,Running,50,60,70")


@pytest.mark.parametrize(("text", "message"), [("yesterday", "'yesterday' is no time"), ("", "is empty")])
def test_a_time_of_philly_that_is_none_is_bad(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"timestamp: {message}"):
        read(tmp_path, "timestamp,duration,num_gpus,cluster", f"{text},60,1,a")


@pytest.mark.evaluation
def test_all_rows_of_openb_are_jobs_or_bad_or_left_out() -> None:
    trace = read_trace(for_evaluation("alibaba_gpu_2023_openb/openb_pod_list_default.csv.gz"), skip_bad=True)
    assert (len(trace.jobs), len(trace.bad_rows), trace.left_out) == (3_630, 2_573, 1_949)


DLRM = "instance_sn,role,app_name,gpu_request,creation_time,scheduled_time,deletion_time"


def test_empty_times_of_dlrm_mean_before_and_after_the_trace(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        DLRM,
        "always,HN,app_0,1,,,",
        "ended,HN,app_0,1,,,400",
        "late,HN,app_1,1,600,700,",
        "whole,HN,app_1,1,100,150,900",
        "cpu,CN,app_1,0,100,150,1000",
        "never-ran,HN,app_1,1,300,300,300",
    )
    seen = {job.name: (job.arrival_s, job.runtime_s, job.department) for job in trace.jobs}
    assert seen == {
        "always": (0.0, 1_000.0, "app_0"),
        "ended": (0.0, 400.0, "app_0"),
        "late": (600.0, 300.0, "app_1"),
        "whole": (100.0, 750.0, "app_1"),
    }
    assert trace.left_out == 2


def test_an_instance_of_dlrm_that_ends_before_it_starts_is_bad(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="deletion_time: a job cannot run for -50 s"):
        read(tmp_path, DLRM, "odd,HN,app_1,1,100,150,100")


def test_an_instance_of_dlrm_that_starts_as_the_trace_ends_is_left_out(tmp_path: Path) -> None:
    trace = read(tmp_path, DLRM, "odd,HN,app_1,1,100,200,", "ended,HN,app_0,1,,,150")
    assert ([job.name for job in trace.jobs], trace.left_out) == (["ended"], 1)


def test_requests_for_pictures_are_short_inference_on_one_gpu(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        "gmt_create,predict_type,predict_status,exec_time_seconds,groupId",
        "2024-11-15 16:57:50,TXT_2_IMG,SUCCEED,32.0,G0000",
        "2024-11-15 16:58:00,TXT_2_IMG,FAILED,3.0,G0001",
        "2024-11-15 16:58:10,TXT_2_IMG,PENDING,0.0,G0001",
    )
    assert [(job.arrival_s, job.runtime_s, job.gpus, job.user) for job in trace.jobs] == [
        (0.0, 32.0, 1, "G0000"),
        (10.0, 3.0, 1, "G0001"),
    ]
    assert {job.kind for job in trace.jobs} == {WorkKind.INFERENCE}
    assert trace.left_out == 1


def test_a_format_can_be_asked_for_and_must_fit(tmp_path: Path) -> None:
    path = written(tmp_path, "arrival,runtime,gpus", "0,60,1")
    assert len(read_trace(path, format=TraceFormat.GENERIC).jobs) == 1
    with pytest.raises(InvalidInput, match="the columns are not those of philly: 'arrival, runtime, gpus'"):
        read_trace(path, format=TraceFormat.PHILLY)
